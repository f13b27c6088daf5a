import { AppError } from '../../errors.ts';

/** Returns the error for a token that is not valid, with the header of RFC 6750 section 3. */
export function invalidToken(detail: string): AppError {
  return new AppError('invalid-token', detail, {
    headers: {
      'www-authenticate': `Bearer realm="tablewright", error="invalid_token", error_description="${detail.replaceAll('"', "'")}"`,
    },
  });
}
