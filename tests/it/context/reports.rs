//! Bug reports as queries: they are long, and a traceback says where to look.

use e2e::Repo;
use serde_json::json;

use super::{indexed, paths, search};

/// A shop. The fault is in `put_entry`, which a router, views and a server stand above.
fn shop() -> Repo {
    Repo::new()
        .file(
            "app/main.py",
            "def main():\n    \"\"\"Starts the server behind the proxy on all machines.\"\"\"\n    serve(Router())\n",
        )
        .file(
            "app/router.py",
            "class Router:\n    def dispatch(self, request):\n        \"\"\"Sends a request to its view.\"\"\"\n        return self.views[request.path](request)\n",
        )
        .file(
            "app/views.py",
            "def checkout(request):\n    \"\"\"Places the order of a customer at the checkout.\"\"\"\n    return orders.put_entry(request.order)\n",
        )
        .file(
            "app/cache.py",
            "class OrderCache:\n    def put_entry(self, order):\n        \"\"\"Puts an entry into the cache, which drops the oldest one when it is full.\"\"\"\n        del self.entries[self.oldest]\n        self.entries[order.number] = order\n",
        )
        .file(
            "app/proxy.py",
            "def trust_proxy(request):\n    \"\"\"Reads the address of a customer that the proxy forwards.\"\"\"\n    return request.headers['X-Forwarded-For']\n",
        )
        .file(
            "docs/deploy.md",
            "# Deploy\n\nThe server runs on three machines behind a proxy.\n",
        )
        .commit()
}

#[tokio::test]
async fn a_report_with_a_traceback_finds_the_file_of_its_innermost_frame() {
    let prose = "We run the shop on three machines behind a proxy, and customers reach the server by it. \
        The server was started anew in the morning, and the proxy was not changed. \
        A customer who comes to the checkout a second time is sent to the page of the server's errors. ";
    let report = format!(
        "KeyError when an order is placed twice and the cache is full\n\n{}\n\n\
         Traceback (most recent call last):\n  \
           File \"app/main.py\", line 3, in main\n    serve(Router())\n  \
           File \"app/router.py\", line 4, in dispatch\n    return self.views[request.path](request)\n  \
           File \"app/views.py\", line 3, in checkout\n    return orders.put_entry(request.order)\n  \
           File \"app/cache.py\", line 4, in put_entry\n    del self.entries[self.oldest]\n\
         KeyError: 17\n",
        prose.repeat(6)
    );
    assert!((1_800..2_400).contains(&report.len()), "{}", report.len());
    let (stack, client) = indexed(shop()).await;
    let reply = search(&stack, &client, json!({ "query": report })).await;
    assert_eq!(paths(&reply)[0], "app/cache.py", "{}", reply.text());
}
