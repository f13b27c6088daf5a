/** Explains requests whose path or method does not exist, and names the one that was probably meant. */

/** Returns the sentences for a path that does not exist. */
export function nothingAt(path: string): string {
  const near = nearPath(path);
  const meant = near === path ? '' : ` Did you mean ${near}?`;
  return `There is nothing at ${path}.${meant} The API reference is at /docs.`;
}

/** Corrects common mistakes in a path: slashes at the end or in a row, a missing `/api/v1`, and `tables` instead of `table`. */
function nearPath(path: string): string {
  return path
    .replace(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1')
    .replace(/^\/(?:api\/)?(?=(?:tables?|types|loads|inspect|events|webhooks|profiles)(?:\/|$))/, '/api/v1/')
    .replace(/^\/api\/v1\/tables\/(?=.)/, '/api/v1/table/');
}
