/** The ways in which most tests send rows and files. Each function takes the service of the test file, which starts later. */
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest } from 'node:http';
import type { ServiceClient, TestAnswer } from './service.ts';

type Service = () => ServiceClient;

/** Returns a function that adds rows to a table. The query begins with `&`. */
export function appender(service: Service, table = 't') {
  return (data: unknown[], query = ''): Promise<TestAnswer> =>
    service().post(`/table/${table}/upload/json?if_exists=append${query}`, { data });
}

/** Returns a function that uploads a file into a table. The query begins with `?`. */
export function fileUploader(service: Service) {
  return (table: string, file: string | Buffer, query = '', body?: unknown): Promise<TestAnswer> =>
    service().upload(`/table/${table}/upload/excel${query}`, Buffer.from(file as string), body);
}

/** Returns a function that inspects a file. The query begins with `?`. */
export function fileInspector(service: Service) {
  return (file: string | Buffer, query = ''): Promise<TestAnswer> =>
    service().upload(`/api/v1/inspect/excel${query}`, Buffer.from(file as string));
}

/** Returns the warnings of a load, each as `code: detail`. */
export function warningsOf({ body }: TestAnswer): string[] {
  return body.load.warnings.map(({ code, detail }: { code: string; detail: string }) => `${code}: ${detail}`);
}

/**
 * Starts an upload of JSON whose body the test writes, on a connection of its own. Errors of the connection fail no test that does not
 * listen to them.
 *
 * @param path the path below `/api/v1`
 */
export async function openUpload(
  service: ServiceClient,
  path: string,
  headers: Record<string, string> = {},
): Promise<ClientRequest> {
  const request = httpRequest(new URL(`/api/v1${path}`, service.url), {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${await service.token()}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
  request.on('error', () => {});
  return request;
}

/** Starts an upload that has a place and has sent one row, and that sends no more until the test does. */
export async function holdUpload(
  service: ServiceClient,
  path: string,
  headers: Record<string, string> = {},
): Promise<ClientRequest> {
  const request = await openUpload(service, path, { expect: '100-continue', ...headers });
  request.flushHeaders();
  const refused = once(request, 'response').then(([{ statusCode }]) => {
    throw new Error(`The upload was answered ${statusCode} before its body.`);
  });
  await Promise.race([once(request, 'continue'), refused]);
  // From now on an answer is expected.
  refused.catch(() => {});
  request.write('{"data":[{"a":1}');
  return request;
}
