import { AppError } from '../../../core/errors.ts';

/** The reasons for which tokens are refused. `claim`: a claim is missing or wrong. `signature`: the token is signed with another key. */
export const tokenRefusals = [
  'malformed',
  'algorithm',
  'signature',
  'expired',
  'not-yet-valid',
  'claim',
] as const;
export type TokenRefusal = (typeof tokenRefusals)[number];

/** The error for a token that is not valid. */
export class InvalidToken extends AppError {
  /** The reason for the metrics. Callers see only the detail. */
  readonly reason: TokenRefusal;

  constructor(reason: TokenRefusal, detail: string) {
    const description = detail.replaceAll('"', "'");
    super('invalid-token', detail, {
      headers: {
        'www-authenticate': `Bearer realm="tablewright", error="invalid_token", error_description="${description}"`,
      },
    });
    this.reason = reason;
  }
}

/** Returns the error for a token that is not valid, with the header of RFC 6750 section 3. @param reason default: a claim is wrong */
export function invalidToken(detail: string, reason: TokenRefusal = 'claim'): AppError {
  return new InvalidToken(reason, detail);
}
