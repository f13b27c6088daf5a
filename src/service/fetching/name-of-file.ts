/** Finds the name of a file that is fetched. */

const maxNameLength = 255;

/**
 * Returns the name that the header `Content-Disposition` (RFC 6266) gives the file, or else the last part of the path, without folders.
 * A link without either has the name of its host.
 */
export function nameOfFile({ pathname, hostname }: URL, disposition = ''): string {
  const encoded = /;\s*filename\*\s*=\s*UTF-8'[^']*'([^;\s]+)/i.exec(disposition)?.[1];
  const plain = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition);
  const candidates = [
    decoded(encoded ?? ''),
    plain?.[1]?.replace(/\\(.)/g, '$1') ?? plain?.[2] ?? '',
    decoded(pathname),
  ];
  return candidates.map(baseName).find((name) => name !== '') ?? hostname;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function baseName(path: string): string {
  const last = path
    .replaceAll(/\p{Cc}/gu, '')
    .split(/[/\\]+/)
    .findLast((part) => part !== '');
  return (last ?? '').toWellFormed().slice(0, maxNameLength);
}
