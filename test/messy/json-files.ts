/** Messy JSON: other forms of rows, and texts that are not quite JSON. */
import { lines, type MessyFile } from './messy-file.ts';

const json = 'application/json';
const ndjson = 'application/x-ndjson';

export const jsonFiles: MessyFile[] = [
  {
    name: 'lines.json',
    mediaType: json,
    content: lines('{"id": 1, "name": "Ann"}', '{"id": 2, "city": "Graz"}'),
    tries: [
      {
        error: '422 invalid-data',
        says: 'one object per line, send it as application/x-ndjson',
        problems: ['unknown-key /id'],
      },
      {
        mediaType: 'application/x-ndjson',
        columns: 'id bigint, name text, city text',
        rows: ['1 | Ann | NULL', '2 | NULL | Graz'],
      },
    ],
  },
  {
    name: 'envelope.json',
    mediaType: json,
    content: Buffer.from('{"status": "ok", "response": {"items": [{"id": 1}, {"id": 2}]}}'),
    tries: [
      {
        error: '422 invalid-data',
        says: 'POST /api/v1/inspect/json lists the arrays',
        problems: ['unknown-key /status'],
      },
      { query: 'rows_at=/response/items', columns: 'id bigint', rows: ['1', '2'] },
    ],
  },
  {
    name: 'array.json',
    mediaType: json,
    content: Buffer.from('\ufeff[{"id": 1}, {"id": 2}]'),
    tries: [{ columns: 'id bigint', rows: ['1', '2'] }],
  },
  {
    name: 'one-object.json',
    mediaType: json,
    content: Buffer.from('{"id": 1, "name": "Ann"}'),
    tries: [{ error: '422 invalid-data', says: 'put it into an array', problems: ['unknown-key /id'] }],
  },
  {
    name: 'nan.json',
    mediaType: json,
    content: Buffer.from('[{"v": 1.5}, {"v": NaN}]'),
    tries: [{ error: '400 invalid-json', says: 'NaN is not JSON; send null' }],
  },
  {
    name: 'single-quotes.json',
    mediaType: json,
    content: Buffer.from("[{'id': 1, 'name': 'Ann'}]"),
    tries: [{ error: '400 invalid-json', says: 'json.dumps' }],
  },
  {
    name: 'python.json',
    mediaType: json,
    content: Buffer.from('[{"id": 1, "paid": True, "note": None}]'),
    tries: [{ error: '400 invalid-json', says: 'True is not JSON; send true' }],
  },
  {
    name: 'trailing-comma.json',
    mediaType: json,
    content: Buffer.from('[{"id": 1}, {"id": 2},]'),
    tries: [{ error: '400 invalid-json', says: 'remove the comma' }],
  },
  {
    name: 'comment.json',
    mediaType: json,
    content: Buffer.from('// rows\n[{"id": 1}]'),
    tries: [{ error: '400 invalid-json', says: 'remove the comment' }],
  },
  {
    name: 'unquoted-keys.json',
    mediaType: json,
    content: Buffer.from('[{id: 1}]'),
    tries: [{ error: '400 invalid-json', says: 'send "id"' }],
  },
  {
    name: 'cut-off.json',
    mediaType: json,
    content: Buffer.from('[{"id": 1}, {"id": 2'),
    tries: [{ error: '400 invalid-json', says: 'The body ends at byte 20' }],
  },
  {
    name: 'utf-16.json',
    mediaType: json,
    content: Buffer.from('\ufeff[{"id": 1}]', 'utf16le'),
    tries: [{ error: '400 invalid-json', says: 'send UTF-8' }],
  },
  {
    name: 'numbers-as-text.json',
    mediaType: json,
    content: Buffer.from('[{"v": "1.234,50", "d": "21/11/2026"}, {"v": "99,00", "d": "02/12/2026"}]'),
    tries: [
      {
        columns: 'v text, d text',
        rows: ['1.234,50 | 21/11/2026', '99,00 | 02/12/2026'],
        warnings: ['other-notation v', 'other-notation d'],
      },
      {
        query: 'decimal_sign=,&thousands_sign=.&date_order=dmy',
        columns: 'v numeric, d date',
        rows: ['1234.50 | 2026-11-21', '99.00 | 2026-12-02'],
      },
    ],
  },
  {
    name: 'mixed-keys.json',
    mediaType: json,
    content: Buffer.from('[{"id": 1, "v": 5}, {"v": "five", "id": 2}, {"id": 3, "more": {"a": [1]}}]'),
    tries: [
      {
        columns: 'id bigint, v text, more jsonb',
        rows: ['1 | 5 | NULL', '2 | five | NULL', '3 | NULL | {"a": [1]}'],
        warnings: ['mixed-column v'],
      },
    ],
  },
  {
    name: 'big-numbers.json',
    mediaType: json,
    content: Buffer.from('[{"v": 12345678901234567890, "w": 0.1000}, {"v": 1, "w": 1e3}]'),
    tries: [{ columns: 'v numeric, w numeric', rows: ['12345678901234567890 | 0.1000', '1 | 1000'] }],
  },
  {
    name: 'bad-line.ndjson',
    mediaType: ndjson,
    content: lines('{"id": 1}', '{"id": 2', '{"id": 3}'),
    tries: [{ error: '400 invalid-json', says: 'line 2' }],
  },
  {
    name: 'repeated-key.json',
    mediaType: json,
    content: Buffer.from('[{"id": 1, "id": 2}]'),
    tries: [{ error: '422 invalid-data', problems: ['repeated-key id /0/id'] }],
  },
];
