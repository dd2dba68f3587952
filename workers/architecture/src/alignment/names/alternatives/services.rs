//! Communication between programs and with people, and access control.

use super::Group;

/// Groups of alternatives.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // API styles.
    ("api", "rest, restful, rest api, rest apis, http api, json over http, json api, restful api; grpc; graphql; soap; json rpc; xml rpc; \
        thrift; trpc; odata; corba; java rmi, rmi; dcom; connect rpc; twirp; falcor"),
    // Push and polling.
    ("push", "websocket, websockets, web socket, web sockets, socket io, signalr; server sent events, sse, event source; \
        long polling; polling, poll, polls, polled; webhook, webhooks; webrtc; webtransport"),
    ("api description", "openapi, swagger; raml; asyncapi; api blueprint; wsdl; typespec; postman collection, postman collections; word document"),
    ("api version", "version in the path, path version, url version, version in the url; \
        version header, header version, version in a header, media type version, accept header; version parameter"),
    ("page", "offset pagination, offset paging, page numbers, limit offset; \
        cursor pagination, cursor based pagination, cursors, keyset pagination, keyset, cursor based"),
    // User sessions.
    ("session", "jwt, jwts, json web token, json web tokens, access token, access tokens; paseto; \
        session, sessions, server side session, server side sessions, session cookie, session cookies; \
        macaroon; basic auth, basic authentication"),
    // Authentication of programs and people.
    ("authentication", "oauth, oauth2, oauth 2, oidc, openid connect; saml; ldap; kerberos; \
        api key, api keys; mtls, mutual tls, client certificate, client certificates; basic auth; hmac; \
        ntlm; shared secret, shared secrets, static token, static tokens, shared password"),
    ("login", "passkey, passkeys, webauthn, fido2; magic link, magic links; one time password, totp; sms code, sms codes, code by sms; \
        social login, sign in with google; security questions"),
    // Identity providers.
    ("identity provider", "auth0; okta; keycloak; cognito; clerk; entra, azure ad, entra id; ping identity; onelogin; fusionauth; \
        supabase auth; firebase auth, firebase authentication; ory, kratos; zitadel; authentik; adfs, active directory; workos; \
        own login, own user table, home grown login, own identity service"),
    ("authorisation", "rbac, role based access control, roles; abac; opa, open policy agent, rego; casbin; cedar policy; \
        openfga; spicedb, zanzibar; acl, access control lists; oso"),
    ("hash", "argon2, argon2id; bcrypt; scrypt; pbkdf2; md5; sha 1, sha1; sha 256, sha256, sha 512; blake3"),
    // Email, SMS and notifications.
    ("email", "sendgrid; ses, amazon ses; mailgun; postmark; sparkpost; mailchimp, mandrill; postfix, own smtp, own mail server; brevo, sendinblue; \
        mailjet; customer io; resend; exim"),
    ("sms", "twilio; vonage, nexmo; messagebird; sinch; plivo; infobip; bandwidth com; gsm modem"),
    ("notification", "firebase cloud messaging, fcm, firebase; apns, apple push; onesignal; pusher; ably; airship; expo push; braze"),
    // Payments.
    ("payment", "stripe; adyen; paypal; braintree; mollie; worldpay; klarna; square payments; checkout com; gocardless; paddle; \
        razorpay; sumup; computop; own card form"),
    ("chat", "slack; teams, microsoft teams, ms teams; mattermost; discord; zulip; rocket chat, rocketchat; irc; matrix"),
    ("customer", "salesforce; hubspot; pipedrive; zendesk; freshdesk; intercom; zoho; sugarcrm; dynamics crm"),
    // Machine learning.
    ("learning", "pytorch; tensorflow; scikit learn, sklearn; jax; xgboost; keras; lightgbm; onnx"),
    ("model", "openai, chatgpt, gpt; anthropic, claude; mistral; gemini; llama, ollama; cohere; bedrock; self hosted model, own model"),
    // File transfer between companies.
    ("transfer", "sftp; ftp; ftps; as2; email attachment, email attachments; webdav; dropbox; usb stick"),
    // Device protocols.
    ("wire", "mqtt; coap; amqp; lorawan; zigbee; z wave; modbus; opc ua; can bus; bluetooth, ble; nb iot; lte m; http polling"),
];
