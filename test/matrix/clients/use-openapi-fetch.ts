/** Uses every operation through openapi-fetch, with the types that openapi-typescript generates. */
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/openapi-typescript.js';

type Definition = components['schemas']['TableDefinition'];

const definition: Definition = {
  columns: [
    // A column needs only a name and a type.
    { name: 'id', type: 'bigint' },
    { name: 'number', type: 'text', is_nullable: false, default: null },
  ],
  constraints: {
    primary_key: { columns: ['id'] },
    foreign_keys: [{ column: 'id', reference_table: 'customers', reference_column: 'id' }],
  },
};

export async function useEveryOperation(url: string, token: string, workbook: Blob): Promise<number[]> {
  const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
  const path = (table_name: string) => ({ path: { table_name } });
  // openapi-typescript has no type for binary values: its guide says to convert.
  const file = workbook as unknown as string;
  const bodySerializer = ({ file, body }: components['schemas']['ExcelUpload']) => {
    const form = new FormData();
    form.append('file', file as unknown as Blob, 'orders.xlsx');
    if (body) form.append('body', JSON.stringify(body));
    return form;
  };

  const health = await client.GET('/healthz');
  const ready = await client.GET('/readyz');
  const customers = await client.POST('/api/v1/table/{table_name}', {
    params: path('customers'),
    body: {
      table: { columns: [{ name: 'id', type: 'bigint' }], constraints: { primary_key: { columns: ['id'] } } },
    },
  });
  const created = await client.POST('/api/v1/table/{table_name}', {
    params: { ...path('orders'), query: { if_not_exists: true } },
    body: { table: definition },
  });
  const described = await client.GET('/api/v1/table/{table_name}', { params: path('customers') });
  // The answer can be sent again.
  const again = await client.POST('/api/v1/table/{table_name}', {
    params: { ...path('customers'), query: { if_not_exists: true } },
    body: { table: described.data!.table },
  });
  const loaded = await client.POST('/api/v1/table/{table_name}/upload/json', {
    params: { ...path('shipments'), query: { if_exists: 'replace', extra_columns: 'add' } },
    // The rows bring the columns.
    body: {
      table: { constraints: { primary_key: { columns: ['shipment'] } } },
      data: [{ shipment: '000380', parcels: 2 }],
    },
  });
  const inspected = await client.POST('/api/v1/inspect/excel', { body: { file }, bodySerializer });
  const sheet: Definition = inspected.data!.sheet.definition;
  const fromWorkbook = await client.POST('/api/v1/table/{table_name}/upload/excel', {
    params: path('from_workbook'),
    body: { file, body: { table: sheet } },
    bodySerializer,
  });
  const refused = await client.POST('/api/v1/table/{table_name}/upload/json', {
    params: { ...path('shipments'), query: { if_exists: 'append' } },
    body: { data: [{ parcels: 'two' }] },
  });
  const code: 'invalid-data' | undefined =
    refused.error?.code === 'invalid-data' ? refused.error.code : undefined;
  if (code === undefined) throw new Error('the error answer has no code');
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
  return answers.map(({ response }) => response.status);
}
