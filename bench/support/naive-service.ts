/**
 * A typical simple upload service, for comparison: the framework parses the body, and rows are inserted with multi-row INSERTs.
 */
import Fastify from 'fastify';
import pg from 'pg';

interface Upload {
  table: { columns: { name: string; type: string }[] };
  data: Record<string, unknown>[];
}

/** The most parameters of a statement. PostgreSQL allows 65,535. */
const maxParameters = 60_000;

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const app = Fastify({ bodyLimit: 2 ** 40 });

app.post<{ Body: Upload }>('/upload', async (request) => {
  const { columns } = request.body.table;
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query(
    `CREATE TABLE bench (${columns.map(({ name, type }) => `"${name}" ${type}`).join(', ')})`,
  );
  const batch = Math.floor(maxParameters / columns.length);
  for (let start = 0; start < request.body.data.length; start += batch) {
    const values: unknown[] = [];
    const rows = request.body.data.slice(start, start + batch).map((row) => {
      const places = columns.map(({ name }) => {
        const value = row[name];
        values.push(typeof value === 'object' && value !== null ? JSON.stringify(value) : value);
        return `$${values.length}`;
      });
      return `(${places.join(',')})`;
    });
    await client.query(`INSERT INTO bench VALUES ${rows.join(',')}`, values);
  }
  await client.query('COMMIT');
  client.release();
  return { rows: request.body.data.length };
});

app.post<{ Body: Pick<Upload, 'data'>; Params: { table: string } }>('/append/:table', async (request) => {
  const { data } = request.body;
  const names = Object.keys(data[0]!);
  const values = data.flatMap((row) => names.map((name) => row[name]));
  const rows = data.map((_, row) => `(${names.map((_, column) => `$${row * names.length + column + 1}`)})`);
  const columns = names.map((name) => `"${name}"`).join();
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query(`INSERT INTO "${request.params.table}" (${columns}) VALUES ${rows.join()}`, values);
  await client.query('COMMIT');
  client.release();
  return { rows: data.length };
});

const url = await app.listen({ port: 0 });
process.stdout.write(`listening at ${url}\n`);
process.on('SIGTERM', () => process.exit(0));
