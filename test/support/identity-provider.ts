/** A real OpenID Connect provider on this machine, which issues tokens and can change its keys or be away. */
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export interface IdentityProvider {
  issuer: string;
  jwksUrl: string;
  /** The number of requests for the keys so far. */
  fetches(): number;
  /** Gets a token with the grant `client_credentials`, as a program does. */
  token(options?: TokenOptions): Promise<string>;
  /** Signs with a new key from now on. @param keeps the number of earlier keys that remain published */
  rotate(keeps: number): void;
  /** Answers all requests in another way; undefined: the provider answers them. */
  answerWith(listener: RequestListener | undefined): void;
  stop(): Promise<void>;
}

export interface TokenOptions {
  scope?: string;
  audience?: string;
  /** Claims in addition to the usual ones. */
  claims?: object;
  ttlSeconds?: number;
  /** The issuer in the token, if it is not the provider's own. */
  issuer?: string;
}

const client = { id: 'loader', secret: 'a secret of the client' };
const scopes = ['table:create', 'table:load', 'table:replace', 'table:read'];

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let keys: object[] = [signingKey()];
  let other: RequestListener | undefined;
  let fetches = 0;
  let listen: RequestListener;
  const server = createServer((request, response) => {
    if (request.url === '/jwks') fetches += 1;
    (other ?? listen)(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  listen = providerOf(issuer, keys, {});
  return {
    issuer,
    jwksUrl: `${issuer}/jwks`,
    fetches: () => fetches,
    token: async (options = {}) => {
      const own = listen;
      listen = providerOf(options.issuer ?? issuer, keys, options);
      try {
        return await fetchToken(issuer, options);
      } finally {
        listen = own;
      }
    },
    rotate: (keeps) => {
      keys = [signingKey(), ...keys.slice(0, keeps)];
      listen = providerOf(issuer, keys, {});
    },
    answerWith: (listener) => {
      other = listener;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Ends the connection without an answer, as a provider does that is away. */
export function hangUp(request: IncomingMessage, _response: ServerResponse): void {
  request.socket.destroy();
}

function signingKey(): object {
  const { privateKey }: { privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' };
}

function providerOf(issuer: string, keys: object[], options: TokenOptions): RequestListener {
  const { audience = 'tablewright', claims = {}, ttlSeconds = 600 } = options;
  const provider = new Provider(issuer, {
    jwks: { keys },
    adapter: NoStore,
    ttl: { ClientCredentials: ttlSeconds },
    cookies: { keys: ['a key for cookies'] },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    scopes,
    extraTokenClaims: () => claims,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://tablewright.example.com',
        getResourceServerInfo: () => ({
          scope: scopes.join(' '),
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: ttlSeconds,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  return provider.callback();
}

/** Tokens in JWT form are not stored. */
class NoStore {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
}

async function fetchToken(url: string, { scope = scopes.join(' ') }: TokenOptions): Promise<string> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret)}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  });
  const body = (await answer.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token;
}
