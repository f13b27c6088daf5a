/** Writes parameters as a query string, as warnings and problems show them: `date_order=dmy&null_values=n/a`. */

/** Returns the parameters as a part of a query string, with as little escaped as possible. */
export function queryText(parameters: Record<string, string>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value.replaceAll(/[^\w./()<>*!~,:'-]/gu, encodeURIComponent)}`)
    .join('&');
}

/** Returns the parameter that loads these texts as NULL. */
export function asNull(texts: string[]): { null_values?: string } {
  if (texts.length === 0) return {};
  return { null_values: texts.map((text) => text.replaceAll(/[\\,]/g, '\\$&')).join(',') };
}
