/** Uses every operation through the client that @hey-api/openapi-ts generates. */
import { createClient } from './generated/hey-api/client/index.js';
import {
  createTable,
  describeTable,
  getHealth,
  getReadiness,
  inspectExcel,
  uploadTableFromExcel,
  uploadTableFromJson,
} from './generated/hey-api/sdk.gen.js';

export async function useEveryOperation(url: string, token: string, workbook: Blob): Promise<number[]> {
  const client = createClient({ baseUrl: url, auth: token });
  const path = (table_name: string) => ({ client, path: { table_name } });

  const health = await getHealth({ client });
  const ready = await getReadiness({ client });
  const customers = await createTable({
    ...path('customers'),
    body: {
      table: { columns: [{ name: 'id', type: 'bigint' }], constraints: { primary_key: { columns: ['id'] } } },
    },
  });
  const created = await createTable({
    ...path('orders'),
    query: { if_not_exists: true },
    body: {
      table: {
        columns: [
          { name: 'id', type: 'bigint' },
          { name: 'number', type: 'text', is_nullable: false, default: null },
        ],
        constraints: {
          foreign_keys: [{ column: 'id', reference_table: 'customers', reference_column: 'id' }],
        },
      },
    },
  });
  const described = await describeTable(path('customers'));
  const again = await createTable({
    ...path('customers'),
    query: { if_not_exists: true },
    body: { table: described.data!.table },
  });
  const loaded = await uploadTableFromJson({
    ...path('shipments'),
    query: { if_exists: 'replace' },
    body: { data: [{ shipment: '000380', parcels: 2 }] },
  });
  const inspected = await inspectExcel({ client, body: { file: workbook } });
  const fromWorkbook = await uploadTableFromExcel({
    ...path('from_workbook'),
    body: { file: workbook, body: { table: inspected.data!.sheet.definition } },
  });
  const refused = await uploadTableFromJson({
    ...path('shipments'),
    query: { if_exists: 'append' },
    body: { data: [{ parcels: 'two' }] },
  });
  if (refused.error?.code !== 'invalid-data') throw new Error('the error answer has no code');
  const answers = [
    health,
    ready,
    customers,
    created,
    described,
    again,
    loaded,
    inspected,
    fromWorkbook,
    refused,
  ];
  return answers.map(({ response }) => response!.status);
}
