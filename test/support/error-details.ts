import type { ErrorCode } from '../../src/core/errors.ts';

/** The `detail` of the answer to each request of `provocations`. */
export const errorDetails: Partial<Record<ErrorCode, string>> = {
  'invalid-json': 'Byte 30 (line 1, column 31; row 1): JSON has no comma before }; remove the comma.',
  'invalid-multipart': 'The multipart body ends before its closing boundary or is malformed.',
  'invalid-file':
    'The file begins like a workbook or a zip file, but its end is missing. It was probably cut off during transfer: send it again, or open it in a spreadsheet program and save it again.',
  'invalid-content-encoding': 'The body is sent with Content-Encoding: gzip, and its gzip data is damaged.',
  'invalid-request': 'The URL contains a malformed percent-encoding.',
  'missing-token': 'Send the access token as "Authorization: Bearer <token>".',
  'invalid-token': 'The access token has expired.',
  'insufficient-scope': 'This needs the scope table:create, which the access token does not have.',
  'schema-forbidden': 'The access token does not allow the schema "public".',
  'permission-denied': 'The access token\'s role "reporting" does not exist, or this service may not use it.',
  'profile-not-owned':
    'The profile "team" of the schema "public" belongs to another subject. Use another name, or leave shared_with out to have a profile of your own.',
  'path-not-found': 'There is nothing at /api/v2/table/orders. The API reference is at /docs.',
  'schema-not-found': 'There is no schema "sales".',
  'table-not-found': 'There is no table "order" in the schema "public". Did you mean "orders"?',
  'load-not-found':
    'There is no load with this id, or the access token may not see it. A load whose process ended before it was recorded has left nothing behind.',
  'no-faulty-rows': 'No row of the load has a problem.',
  'webhook-not-found':
    "The subject of the access token has no webhook with this id. GET /api/v1/webhooks lists the subject's webhooks.",
  'profile-not-found':
    'There is no profile "monthly-orders" of the subject of the access token, and none is shared with a schema that the token may use. GET /api/v1/profiles lists them.',
  'method-not-allowed': 'The methods of this path: GET, HEAD.',
  'not-acceptable': 'The service answers application/json and application/problem+json only.',
  'request-timeout': 'No byte of the body arrived for 1 s (BODY_IDLE_TIMEOUT_MS).',
  'table-exists': 'Table "public"."orders" already exists. Send if_not_exists=true, or use another name.',
  'dependent-objects':
    'The table "public"."reported" cannot be replaced: other objects depend on it. Drop them first, or keep the table: send if_exists=truncate.',
  'write-conflict': 'Another transaction changed the same table or rows. Send the request again.',
  'loses-data':
    'The definition lacks parts of the table, which would be lost; see "errors". Send allow=drop_columns,drop_constraints to drop them.',
  'lock-too-long':
    'The changes would lock the table for more than 200 ms (max_lock_ms), so nothing was changed. dry_run=true shows which of them write or read all rows.',
  'precondition-failed':
    'The definition of the table has changed since the answer whose ETag was sent as If-Match. Describe the table again.',
  'load-ended': 'The load has ended: it is committed.',
  'load-cancelled': 'The load was cancelled; nothing was changed.',
  'idempotency-key-in-use':
    'A request with this Idempotency-Key is still running. Send the request again later to get its answer.',
  'events-removed':
    'Events after the one in Last-Event-ID have been removed, because events are kept for 7 days. Read the tables as they are now, and connect without Last-Event-ID.',
  'limit-exceeded': 'The data has too many rows: the limit is 100 rows (MAX_ROWS).',
  'unsupported-media-type':
    'The content type "text/csv" is not accepted here: send application/json with {"data": […]} or an array of rows, application/x-ndjson with a row on each line, or a spreadsheet or text file to upload/excel.',
  'expectation-failed': 'The header Expect may only be 100-continue.',
  'invalid-parameter': 'This endpoint has no query parameter "schma"; it has schema.',
  'invalid-definition': 'The definition has 2 errors; see "errors".',
  'distribution-unavailable':
    'The definition has a distribution, and the database has no Citus (version 12 or newer) to distribute tables. Leave "distribution" out.',
  'invalid-data': 'There are 4 problems in the data; nothing was changed.',
  'nothing-to-load': 'The upload has neither a definition (`table`) nor a row with a column.',
  'password-required':
    'The workbook is encrypted. Send its password as the part password of the form, before the part file, or remove the password (File, Info, Protect Workbook, Encrypt with Password) and save it again.',
  'wrong-password':
    'The password in the part password does not open the workbook. Passwords are case-sensitive. Send the right password, or remove the password (File, Info, Protect Workbook, Encrypt with Password) and save it again.',
  'unsupported-file':
    'The file is a PDF document. Open it in a spreadsheet program, save it as .xlsx or .csv, and send the new file.',
  'link-refused':
    'The host 192.168.0.1 has no address, or one in a private or special network that WEBHOOK_PRIVATE_NETWORKS does not allow.',
  'link-failed':
    'The server 127.0.0.1:1 of the link did not send the whole file: the connection failed (ECONNREFUSED).',
  'idempotency-key-reused':
    'Another request was answered under this Idempotency-Key, or the same one with other rights (table:read, role, schemas). Send a new key for a new request.',
  'invalid-webhook':
    'The host 192.168.0.1 has no address, or one in a private or special network that WEBHOOK_PRIVATE_NETWORKS does not allow.',
  'invalid-profile': 'A profile cannot have the parameter dry_run, which belongs to one upload.',
  'too-many-uploads':
    'Too many uploads are running: the limit is 1 upload (MAX_UPLOADS). No place became free within 0 s (UPLOAD_WAIT_MS). Try again later.',
  'too-many-requests':
    "The access token's subject has sent too many requests in a minute: the limit is 1 request (MAX_REQUESTS_PER_MINUTE). Try again after the seconds in Retry-After.",
  'queue-full':
    "The access token's subject has too many bytes of asynchronous uploads that wait or run: the limit is 1 KiB (MAX_QUEUED_BYTES_PER_SUBJECT). Try again when some have ended.",
  'headers-too-large': 'The request headers are over 16 KiB.',
  'internal-error': 'The request could not be completed. Its id is in `instance`.',
  'not-enabled':
    'This service keeps no records of loads and events, because it has no schema of its own in the database (SERVICE_SCHEMA).',
  'database-unavailable': 'The database cannot be reached. Try again later.',
  'database-busy':
    'Another transaction held a lock that the request needs, usually on the table, for too long (LOCK_TIMEOUT_MS). Try again later.',
  'token-keys-unavailable':
    'The service cannot fetch the keys that verify access tokens from the identity provider. Send the request again later.',
  'shutting-down': 'The service is starting or stopping.',
};
