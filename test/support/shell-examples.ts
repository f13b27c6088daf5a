/** Reads the requests that a document shows as shell blocks, each with the answer below it, and sends them. */
import { spawn, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

export interface ShellExample {
  /** The `curl` command. */
  command: string;
  /** The status line and the answer as the document shows them; undefined: it shows no answer. */
  shown: string | undefined;
}

export interface HttpAnswer {
  status: number;
  body: string;
  /** `load.id` of the answer of an upload. */
  loadId?: string | undefined;
}

/** The address of the service in the document. */
const shownUrl = 'http://127.0.0.1:8080';

export function shellExamples(markdown: string): ShellExample[] {
  return [...markdown.matchAll(/^```sh\n(curl .*?)\n```\n(?:\n```text\n(.*?)\n```)?/gms)].map((match) => ({
    command: match[1]!,
    shown: match[2],
  }));
}

/** Sends the request of a command to the service at `url`, with curl if the machine has it. */
export function sendExample(
  command: string,
  url: string,
  token: string,
  folder: string,
): Promise<HttpAnswer> {
  const here = command.replaceAll(shownUrl, url);
  const hasCurl = spawnSync('curl', ['--version']).status === 0;
  return hasCurl ? sendByCurl(here, token, folder) : sendByFetch(here, token, folder);
}

async function sendByCurl(command: string, token: string, folder: string): Promise<HttpAnswer> {
  const script = `curl() { command curl -sS -w '\\n%{http_code}' "$@"; }\n${command}\n`;
  const child = spawn('sh', ['-c', script], { cwd: folder, env: { PATH: process.env.PATH, TOKEN: token } });
  child.stdin.end();
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const end = output.lastIndexOf('\n');
  if (end < 0) throw new Error(`${command}\n${errors}`);
  return answerOf(Number(output.slice(end + 1)), output.slice(0, end));
}

/** Sends the request of a curl command without curl. It supports the options that the documents use, and `gzip -c FILE |` before curl. */
export async function sendByFetch(command: string, token: string, folder: string): Promise<HttpAnswer> {
  const headers = new Headers();
  let body: string | Buffer<ArrayBuffer> | FormData | undefined;
  let url: string | undefined;
  let method: string | undefined;
  const [, packedFile, curl] = /^(?:gzip -c (\S+) \| )?(curl .*)$/s.exec(command)!;
  const words = shellWords(curl!, token).slice(1);
  while (words.length > 0) {
    const word = words.shift()!;
    if (word === '-H') {
      const [name, value] = words.shift()!.split(/: (.*)/, 2);
      headers.set(name!, value!);
    } else if (word === '-X') {
      method = words.shift();
    } else if (word === '--data-binary') {
      const value = words.shift()!;
      if (value === '@-') body = gzipSync(await readFile(join(folder, packedFile!)));
      else body = value.startsWith('@') ? await readFile(join(folder, value.slice(1)), 'utf8') : value;
    } else if (word === '-F') {
      const [name, value] = words.shift()!.split(/=(.*)/s, 2);
      if (!(body instanceof FormData)) body = new FormData();
      if (value!.startsWith('@')) {
        const content = await readFile(join(folder, value!.slice(1)));
        body.append(name!, new Blob([new Uint8Array(content)]), value!.slice(1));
      } else {
        body.append(name!, value!);
      }
    } else if (/^https?:/.test(word)) {
      url = word;
    } else {
      throw new Error(`curl ${word}: not known here`);
    }
  }
  const answer = await fetch(url!, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
  });
  return answerOf(answer.status, await answer.text());
}

function answerOf(status: number, body: string): HttpAnswer {
  return { status, body: withoutLoadId(body), loadId: /"load":\{"id":"([\da-f-]{36})"/.exec(body)?.[1] };
}

/** Splits a command as a shell does: it handles quotes, backslashes at the end of a line, and `$TOKEN` outside of single quotes. */
function shellWords(command: string, token: string): string[] {
  const pattern = /'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s'"\\]+)|(\\\n|\s+)/g;
  const words = [''];
  for (const [, single, double, bare, space] of command.matchAll(pattern)) {
    if (space !== undefined) words.push('');
    else words[words.length - 1] += single ?? (double ?? bare)!.replaceAll('$TOKEN', token);
  }
  return words.filter((word) => word !== '');
}

/** Returns the shown text without times and ids, because they differ in each answer. */
export function withoutChance(shown: string): string {
  return shown
    .replace(/^(\d{3}) [A-Z][a-z A-Z]*\n/, '$1 ')
    .replace(/"duration_ms": \d+/, '"duration_ms": 0')
    .replace(/urn:uuid:[\da-f-]{36}/, 'urn:uuid:');
}

/** Returns an answer without the id of its load, which the examples leave out. */
export function withoutLoadId(answer: string): string {
  return answer.replace(/"load":\{"id":"[\da-f-]{36}",/, '"load":{');
}
