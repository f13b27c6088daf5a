/** The ways in which most tests send rows and files. Each function takes the service of the test file, which starts later. */
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
