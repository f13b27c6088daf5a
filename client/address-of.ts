/**
 * Returns the address of a service without a trailing slash.
 *
 * @param name what the address is called in the error
 * @throws TypeError if it is not an address
 */
export function addressOf(url: unknown, name: string): string {
  const text = String(url ?? '');
  const { protocol = '', username } = URL.canParse(text) ? new URL(text) : ({} as Partial<URL>);
  if (/^https?:$/.test(protocol) && !username && !/[?#]/.test(text)) return text.replace(/\/+$/, '');
  // An address with a user name often contains a password too. The error must not repeat it.
  const found = text === '' ? 'is missing' : username ? 'has a user name' : `is "${text}"`;
  throw new TypeError(
    `${name} ${found}. It must be the address of the service, such as http://127.0.0.1:8080, without a user name, "?" and "#".`,
  );
}
