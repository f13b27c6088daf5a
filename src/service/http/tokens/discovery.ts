/** Reads the discovery document of an identity provider (OpenID Connect Discovery 1.0, section 4). */
import { fetchJson } from './fetch-json.ts';

export interface Discovery {
  /** The URL of the document. */
  url: string;
  /** The metadata of the provider; an empty object if the document is not a JSON object. */
  metadata: Record<string, unknown>;
}

/** Fetches the document. @throws the errors of `fetchJson` */
export async function discover(issuer: string): Promise<Discovery> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return { url, metadata: asObject(await fetchJson(url)) };
}

/** Returns the JSON value, or an empty object if it is not an object. */
export function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
