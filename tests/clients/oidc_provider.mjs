// A real OpenID Connect provider, for signing in to the operator's page.
//
//     oidc_provider.mjs PAGE METHOD     the page's address, `http://host:port`; how the client with a secret sends it
//
// Prints its own address as a line of JSON and serves until its standard input ends. Whoever comes is signed in without a
// form: as the account that the parameter `as` of the last step names, else as ada. It grants `admin` to ada alone.
// The package is outside the clone, in the folder ARCHWAY_TEST_PROVIDER.

import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [page, method] = process.argv.slice(2);
const main = join(process.env.ARCHWAY_TEST_PROVIDER, "node_modules/oidc-provider/lib/index.js");
const { Provider } = await import(pathToFileURL(main));

const client = {
  redirect_uris: [`${page}/console/callback`],
  response_types: ["code"],
  grant_types: ["authorization_code"],
};
const secret = "s3cret/with:reserved%signs+and=more";
const accounts = { ada: "openid admin", bob: "openid" };

const server = createServer((request, response) => handle(request, response));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: "page", client_secret: secret, token_endpoint_auth_method: method },
    { ...client, client_id: "public", token_endpoint_auth_method: "none" },
  ],
  clientAuthMethods: [method, "none"],
  scopes: ["openid", "admin"],
  claims: { openid: ["sub", "preferred_username", "groups"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  cookies: { keys: ["only for tests"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: `${id}@example`, groups: [`${id}s-group`] }),
  }),
  async loadExistingGrant(context) {
    const { Client, Session } = context.oidc.entities;
    const grant = new provider.Grant({ clientId: Client.clientId, accountId: Session.accountId });
    grant.addOIDCScope(accounts[Session.accountId]);
    if (!accounts[Session.accountId].includes("admin")) grant.rejectOIDCScope("admin");
    await grant.save();
    return grant;
  },
});
const own = provider.callback();

async function handle(request, response) {
  const url = new URL(request.url, issuer);
  // The package takes a secret either way, whatever the client is registered with. Other providers do not.
  if (request.headers.authorization && method !== "client_secret_basic") {
    response.writeHead(401, { "content-type": "application/json" });
    return response.end(JSON.stringify({ error: "invalid_client" }));
  }
  if (!url.pathname.startsWith("/interaction/")) return own(request, response);
  const accountId = url.searchParams.get("as") ?? "ada";
  const outcome =
    accountId === "nobody" ? { error: "access_denied" } : { login: { accountId, remember: false } };
  await provider.interactionFinished(request, response, outcome);
}

console.log(JSON.stringify({ issuer, secret }));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
