/** Fetches a JSON document from an identity provider, in bounded time and memory. */

const timeoutMs = 5000;
const maxBytes = 256 * 1024;

/**
 * Returns the document. Redirects are not followed, because they could lead to an address without TLS.
 *
 * @throws Error with a message for the log, without the query of the URL, because that may have a secret
 */
export async function fetchJson(url: string): Promise<unknown> {
  const shown = url.replace(/\?.*$/s, '');
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${shown} answered with status ${response.status} instead of 200`);
  }
  const text = await boundedText(response, shown);
  try {
    return JSON.parse(text);
  } catch {
    // The message of JSON.parse is not used, because it contains a part of the text.
    throw new Error(`${shown} did not answer with JSON`);
  }
}

async function boundedText(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`${url} answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
