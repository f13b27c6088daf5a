/** Reads public keys that verify access tokens: the value of TOKEN_PUBLIC_KEY, and the keys of a JWK set. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface PublicKey {
  key: KeyObject;
  /** The algorithms (RFC 7518 section 3.1, RFC 8037, RFC 9864) that the key can verify. */
  possible: string[];
  /** The algorithms that apply if TOKEN_ALGORITHMS is not set. */
  byDefault: string[];
}

export interface KeyProblem {
  /** The end of a sentence about the key, such as "is an RSA key of 1024 bits; …". */
  problem: string;
}

/** The minimum size, which RFC 7518 section 3.3 requires. */
const minRsaBits = 2048;

const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
/** The algorithm of each curve, by the curve's name in OpenSSL. */
const curveAlgorithms: Record<string, string> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
const edwardsAlgorithms = ['EdDSA', 'Ed25519'];

export const publicKeyAlgorithms = [
  ...rsaAlgorithms,
  ...Object.values(curveAlgorithms),
  ...edwardsAlgorithms,
];

/** The default algorithms for the keys of an identity provider: at least one for each kind of key. */
export const providerAlgorithms = ['RS256', 'PS256', ...Object.values(curveAlgorithms), ...edwardsAlgorithms];

/** Reads a key in PEM or JWK form (RFC 7517), which is the value itself or the content of the file that the value names. */
export function readPublicKey(value: string): PublicKey | KeyProblem {
  if (isInline(value)) return parsePublicKey(value);
  try {
    return parsePublicKey(readFileSync(value, 'utf8').trim());
  } catch (error) {
    const { code = 'it is not a path' } = error as NodeJS.ErrnoException;
    return { problem: `is neither a key in PEM or JWK form nor a file that can be read (${code})` };
  }
}

/** Returns whether the text is a key in a readable form, and neither random bytes nor a path. */
export function looksLikeKey(text: string): boolean {
  if (text.startsWith('{')) return text.includes('"kty"');
  return isInline(text) && (text.startsWith('-') || !('problem' in parsePublicKey(text)));
}

function isInline(value: string): boolean {
  return value.startsWith('-----BEGIN') || value.startsWith('{') || bareKey.test(value);
}

/** A PEM key without its first and last line, as Keycloak shows keys: only its Base64. */
const bareKey = /^MI[A-Za-z0-9+/\s]{50,}={0,2}$/;

function parsePublicKey(text: string): PublicKey | KeyProblem {
  if (text.startsWith('{')) {
    try {
      return publicKeyOfJwk(JSON.parse(text));
    } catch {
      return { problem: 'is not a valid JWK (RFC 7517)' };
    }
  }
  if (/-----BEGIN (\w+ )*PRIVATE KEY-----/.test(text)) return isPrivate();
  try {
    if (bareKey.test(text)) {
      return publicKeyOf(createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' }));
    }
    // In many environments a value must be on one line, so ` ` is accepted for a line break.
    return publicKeyOf(createPublicKey(text.replaceAll('\\n', '\n')));
  } catch {
    return { problem: 'is not a valid public key in PEM form' };
  }
}

/** Reads a public key in JWK form (RFC 7517). */
export function publicKeyOfJwk(jwk: JsonWebKey): PublicKey | KeyProblem {
  const { kty, d, use, alg } = jwk as Record<string, unknown>;
  if (kty === 'oct') return { problem: 'is a shared secret, which belongs in TOKEN_SECRET' };
  if (d !== undefined) return isPrivate();
  if (use !== undefined && use !== 'sig')
    return { problem: 'is not for signatures (its "use" is not "sig")' };
  let read: PublicKey | KeyProblem;
  try {
    read = publicKeyOf(createPublicKey({ key: jwk, format: 'jwk' }));
  } catch {
    return { problem: 'is not a valid JWK (RFC 7517) of a supported kind' };
  }
  if ('problem' in read || alg === undefined) return read;
  if (typeof alg !== 'string' || !read.possible.includes(alg)) {
    return { problem: `has an "alg" that is not one of ${read.possible.join(', ')}` };
  }
  return { key: read.key, possible: [alg], byDefault: [alg] };
}

function isPrivate(): KeyProblem {
  return {
    problem: 'is a private key. The service needs only the public key, so do not give it the private one',
  };
}

function publicKeyOf(key: KeyObject): PublicKey | KeyProblem {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength = 0, namedCurve = '' } = {} } = key;
  if (type === 'ed25519') return { key, possible: edwardsAlgorithms, byDefault: edwardsAlgorithms };
  if (type === 'rsa') {
    if (modulusLength < minRsaBits) {
      return {
        problem: `is an RSA key of ${modulusLength} bits, which is too weak; it must have at least ${minRsaBits}`,
      };
    }
    if (!isSoundRsa(key)) {
      return {
        problem:
          'is an RSA key that protects nothing or little: its exponent must be odd and at least 65537, and its modulus odd',
      };
    }
    return { key, possible: rsaAlgorithms, byDefault: ['RS256', 'PS256'] };
  }
  const algorithm = type === 'ec' ? curveAlgorithms[namedCurve] : undefined;
  if (algorithm !== undefined) return { key, possible: [algorithm], byDefault: [algorithm] };
  return { problem: 'is of a kind that is not supported; use RSA, P-256, P-384, P-521 or Ed25519' };
}

/**
 * Returns whether the numbers of an RSA key are safe. With the exponent 1 or an even modulus, everybody can sign. FIPS 186-5
 * (section 5.1) requires an exponent above 2^16, because signatures for small ones, such as 3, can be forged if a verifier checks
 * their padding carelessly. Nearly all keys have 65537.
 */
function isSoundRsa(key: KeyObject): boolean {
  const { publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  const modulus = Buffer.from(key.export({ format: 'jwk' }).n!, 'base64url');
  return publicExponent > 65_536n && publicExponent % 2n === 1n && modulus.at(-1)! % 2 === 1;
}
