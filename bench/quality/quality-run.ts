/** What a benchmark of quality gets, and the upload of one file to the running service. */
import pg from 'pg';

export interface QualityRun {
  /** The folder of the set of files. */
  data: string;
  url: string;
  token: string;
  databaseUrl: string;
}

/** A file that the service has read, as texts. */
export interface ReadTable {
  /** The service found a header. */
  hasHeader: boolean;
  /** The names of the columns. */
  names: string[];
  rows: string[][];
  warnings: string[];
}

export interface Reader {
  /**
   * Uploads a file and reads its table back.
   *
   * @param names the columns of the definition, which are texts; undefined: the upload has no definition
   * @returns the code of the error if the file was refused
   */
  read(
    bytes: Buffer,
    query: Record<string, string>,
    names?: string[],
  ): Promise<ReadTable | { refused: string }>;
  close(): Promise<void>;
}

/** Opens a reader that loads every file into a table of the same name. */
export async function openReader({ url, token, databaseUrl }: QualityRun): Promise<Reader> {
  const client = new pg.Client({ connectionString: databaseUrl, types: { getTypeParser: () => String } });
  await client.connect();
  return {
    read: async (bytes, query, names) => {
      await client.query('DROP TABLE IF EXISTS quality');
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(bytes)]), 'file.csv');
      if (names !== undefined) form.append('body', definitionOf(names));
      const answer = await fetch(`${url}/api/v1/table/quality/upload/excel?${new URLSearchParams(query)}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: form,
      });
      const body = (await answer.json()) as Answer;
      if (body.load === undefined) return { refused: body.code ?? String(answer.status) };
      const { header_row, warnings } = body.load;
      // The rows of a new table have the order of the file.
      const { rows, fields } = await client.query({ text: 'TABLE quality', rowMode: 'array' });
      return {
        hasHeader: header_row !== undefined,
        names: fields.map(({ name }) => name),
        rows: rows.map((row: (string | null)[]) => row.map((value) => value ?? '')),
        warnings: warnings.map(({ code }) => code),
      };
    },
    close: () => client.end(),
  };
}

function definitionOf(names: string[]): string {
  const columns = names.map((name) => ({ name, type: 'text', is_nullable: true }));
  return JSON.stringify({ table: { columns } });
}

interface Answer {
  code?: string;
  load?: { header_row?: number; warnings: { code: string }[] };
}
