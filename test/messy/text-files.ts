/** Messy text files: notations, encodings, delimiters, quotes, headers and rows of other lengths. */
import { lines, type MessyFile } from './messy-file.ts';

const notations: MessyFile[] = [
  {
    name: 'european.csv',
    content: lines(
      'Rechnung;Datum;Betrag;Rabatt',
      'R-1;21/11/2026;1.234,50;N/A',
      'R-2;02/12/2026;99,00;1,5',
      'R-3;03/12/2026;12.000,00;0,5',
    ),
    tries: [
      {
        columns: 'Rechnung text, Datum text, Betrag text, Rabatt text',
        rows: [
          'R-1 | 21/11/2026 | 1.234,50 | N/A',
          'R-2 | 02/12/2026 | 99,00 | 1,5',
          'R-3 | 03/12/2026 | 12.000,00 | 0,5',
        ],
        warnings: [
          'delimiter',
          'other-notation Datum B2',
          'other-notation Betrag C2',
          'other-notation Rabatt D3',
        ],
      },
      {
        query: 'date_order=dmy&decimal_sign=,&thousands_sign=.&null_values=N/A',
        columns: 'Rechnung text, Datum date, Betrag numeric, Rabatt numeric',
        rows: [
          'R-1 | 2026-11-21 | 1234.50 | NULL',
          'R-2 | 2026-12-02 | 99.00 | 1.5',
          'R-3 | 2026-12-03 | 12000.00 | 0.5',
        ],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'american.csv',
    content: lines(
      'no,day,amount',
      '1,11/21/2026,"1,234.50"',
      '2,12/02/2026,99.00',
      '3,1/31/2026,"12,000.00"',
    ),
    tries: [
      {
        columns: 'no bigint, day text, amount text',
        rows: ['1 | 11/21/2026 | 1,234.50', '2 | 12/02/2026 | 99.00', '3 | 1/31/2026 | 12,000.00'],
        warnings: ['other-notation day B2', 'other-notation amount C2'],
      },
      {
        query: 'date_order=mdy&thousands_sign=,',
        columns: 'no bigint, day date, amount numeric',
        rows: ['1 | 2026-11-21 | 1234.50', '2 | 2026-12-02 | 99.00', '3 | 2026-01-31 | 12000.00'],
      },
    ],
  },
  {
    name: 'ambiguous-dates.csv',
    content: lines('no,day', '1,03/04/2026', '2,05/06/2026'),
    tries: [
      {
        columns: 'no bigint, day text',
        rows: ['1 | 03/04/2026', '2 | 05/06/2026'],
        warnings: ['other-notation day B2'],
      },
      { query: 'date_order=dmy', columns: 'no bigint, day date', rows: ['1 | 2026-04-03', '2 | 2026-06-05'] },
    ],
  },
  {
    name: 'year-first-dates.csv',
    content: lines('no,day', '1,2026/11/21', '2,2026/12/02'),
    tries: [
      {
        columns: 'no bigint, day text',
        rows: ['1 | 2026/11/21', '2 | 2026/12/02'],
        warnings: ['other-notation day B2'],
      },
      { query: 'date_order=ymd', columns: 'no bigint, day date', rows: ['1 | 2026-11-21', '2 | 2026-12-02'] },
    ],
  },
  {
    name: 'two-digit-years.csv',
    content: lines('no;day', '1;21.11.26', '2;02.12.69'),
    tries: [
      {
        columns: 'no bigint, day text',
        rows: ['1 | 21.11.26', '2 | 02.12.69'],
        warnings: ['delimiter', 'other-notation day B2'],
      },
      {
        query: 'date_order=dmy',
        columns: 'no bigint, day date',
        rows: ['1 | 2026-11-21', '2 | 2069-12-02'],
        warnings: ['delimiter', 'two-digit-year day B2'],
      },
    ],
  },
  {
    name: 'dates-with-times.csv',
    content: lines('no;at', '1;21/11/2026 14:30', '2;02/12/2026 08:05:09'),
    tries: [
      {
        columns: 'no bigint, at text',
        rows: ['1 | 21/11/2026 14:30', '2 | 02/12/2026 08:05:09'],
        warnings: ['delimiter', 'other-notation at B2'],
      },
      {
        query: 'date_order=dmy',
        columns: 'no bigint, at timestamp without time zone',
        rows: ['1 | 2026-11-21 14:30:00', '2 | 2026-12-02 08:05:09'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'pandas.csv',
    content: lines(',at,value', '0,2026-11-21 10:11:12,1.5', '1,2026-11-22 00:00:00,'),
    tries: [
      {
        columns: 'column_A bigint, at text, value numeric',
        rows: ['0 | 2026-11-21 10:11:12 | 1.5', '1 | 2026-11-22 00:00:00 | NULL'],
        warnings: ['blank-header column_A', 'other-notation at B2'],
      },
      {
        query: 'date_order=ymd',
        columns: 'column_A bigint, at timestamp without time zone, value numeric',
        rows: ['0 | 2026-11-21 10:11:12 | 1.5', '1 | 2026-11-22 00:00:00 | NULL'],
        warnings: ['blank-header column_A'],
      },
    ],
  },
  {
    name: 'impossible-date.csv',
    content: lines('no,day', '1,2026-02-28', '2,2026-02-30', '3,2026-03-01', '4,2026-03-02', '5,2026-03-03'),
    tries: [
      {
        columns: 'no bigint, day text',
        rows: ['1 | 2026-02-28', '2 | 2026-02-30', '3 | 2026-03-01', '4 | 2026-03-02', '5 | 2026-03-03'],
        warnings: ['mixed-column day B3'],
      },
    ],
  },
  {
    name: 'percent.csv',
    content: lines('no,share', '1,12.5%', '2,0%', '3,100 %'),
    tries: [
      {
        columns: 'no bigint, share text',
        rows: ['1 | 12.5%', '2 | 0%', '3 | 100 %'],
        warnings: ['other-notation share B2'],
      },
    ],
  },
  {
    name: 'currency.csv',
    content: lines('no,price', '1,$1.50', '2,$12.00', '3,-$3.25'),
    tries: [
      {
        columns: 'no bigint, price text',
        rows: ['1 | $1.50', '2 | $12.00', '3 | -$3.25'],
        warnings: ['other-notation price B2'],
      },
      {
        query: 'extra_columns=add',
        definition: { columns: [{ name: 'price', type: 'numeric' }] },
        error: '422 invalid-data',
        problems: ['not-a-number price B2', 'not-a-number price B3', 'not-a-number price B4'],
      },
    ],
  },
  {
    name: 'accounting.csv',
    content: lines('no,balance', '1,1250.00', '2,(80.50)', '3,12.00', '4,7.00'),
    tries: [
      {
        columns: 'no bigint, balance text',
        rows: ['1 | 1250.00', '2 | (80.50)', '3 | 12.00', '4 | 7.00'],
        warnings: ['other-notation balance B3'],
      },
    ],
  },
  {
    name: 'trailing-minus.csv',
    content: lines('no,balance', '1,1250.00', '2,80.50-', '3,12.00', '4,7.00'),
    tries: [
      {
        columns: 'no bigint, balance text',
        rows: ['1 | 1250.00', '2 | 80.50-', '3 | 12.00', '4 | 7.00'],
        warnings: ['other-notation balance B3'],
      },
    ],
  },
  {
    name: 'null-words.csv',
    content: lines('id,a,b', '1,5,N/A', '2,n/a,#N/A', '3,7,2.5', '4,NULL,3', '5,9,-'),
    tries: [
      {
        columns: 'id bigint, a text, b text',
        rows: ['1 | 5 | N/A', '2 | n/a | #N/A', '3 | 7 | 2.5', '4 | NULL | 3', '5 | 9 | -'],
        warnings: ['other-notation a', 'other-notation b'],
      },
      {
        query: 'null_values=N/A,n/a,%23N/A,NULL,-',
        columns: 'id bigint, a bigint, b numeric',
        rows: ['1 | 5 | NULL', '2 | NULL | NULL', '3 | 7 | 2.5', '4 | NULL | 3', '5 | 9 | NULL'],
      },
    ],
  },
  {
    name: 'hash-null-word.csv',
    content: lines('id,a', '1,5', '2,#N/A', '3,7', '4,8'),
    tries: [
      {
        columns: 'id bigint, a text',
        rows: ['1 | 5', '2 | #N/A', '3 | 7', '4 | 8'],
        warnings: ['mixed-column a B3'],
      },
      {
        query: 'null_values=%23N/A',
        columns: 'id bigint, a bigint',
        rows: ['1 | 5', '2 | NULL', '3 | 7', '4 | 8'],
      },
    ],
  },
  {
    name: 'database-nulls.csv',
    content: lines('id,a', '1,5', '2,\\N', '3,7', '4,8'),
    tries: [
      {
        columns: 'id bigint, a text',
        rows: ['1 | 5', '2 | \\N', '3 | 7', '4 | 8'],
        warnings: ['mixed-column a B3'],
      },
      {
        query: 'null_values=\\\\N',
        columns: 'id bigint, a bigint',
        rows: ['1 | 5', '2 | NULL', '3 | 7', '4 | 8'],
      },
    ],
  },
  {
    name: 'not-a-number.csv',
    content: lines('id,v', '1,1.5', '2,NaN', '3,2.5', '4,3.5'),
    tries: [
      {
        columns: 'id bigint, v text',
        rows: ['1 | 1.5', '2 | NaN', '3 | 2.5', '4 | 3.5'],
        warnings: ['mixed-column v B3'],
      },
      {
        query: 'null_values=NaN',
        columns: 'id bigint, v numeric',
        rows: ['1 | 1.5', '2 | NULL', '3 | 2.5', '4 | 3.5'],
      },
    ],
  },
  {
    name: 'leading-zeros.csv',
    content: lines('zip,phone,count', '01067,+49351,2', '80331,089456,0'),
    tries: [
      { columns: 'zip text, phone text, count bigint', rows: ['01067 | +49351 | 2', '80331 | 089456 | 0'] },
    ],
  },
  {
    name: 'long-digits.csv',
    content: lines('card,serial', '4111111111111111,123456789012345678901234567890', '5500000000000004,1'),
    tries: [
      {
        columns: 'card bigint, serial numeric',
        rows: ['4111111111111111 | 123456789012345678901234567890', '5500000000000004 | 1'],
      },
    ],
  },
  {
    name: 'scientific.csv',
    content: lines('no,v', '1,1.5E+10', '2,2E-3', '3,12'),
    tries: [
      {
        columns: 'no bigint, v text',
        rows: ['1 | 1.5E+10', '2 | 2E-3', '3 | 12'],
        warnings: ['other-notation v B2'],
      },
      {
        query: 'extra_columns=add',
        definition: { columns: [{ name: 'v', type: 'numeric' }] },
        columns: 'v numeric, no bigint',
        rows: ['15000000000 | 1', '0.002 | 2', '12 | 3'],
      },
    ],
  },
  {
    name: 'booleans.csv',
    content: lines('a,b,c,d,e', 'TRUE,Ja,Y,1,true', 'FALSE,Nein,N,0,false'),
    tries: [
      {
        columns: 'a text, b text, c text, d bigint, e boolean',
        rows: ['TRUE | Ja | Y | 1 | t', 'FALSE | Nein | N | 0 | f'],
        warnings: ['other-notation a A2', 'other-notation c C2'],
      },
      {
        query: 'extra_columns=add',
        definition: {
          columns: [
            { name: 'a', type: 'boolean' },
            { name: 'c', type: 'boolean' },
          ],
        },
        columns: 'a boolean, c boolean, b text, d bigint, e boolean',
        rows: ['t | t | Ja | 1 | t', 'f | f | Nein | 0 | f'],
      },
    ],
  },
  {
    name: 'spaces.csv',
    content: lines('name , count , day', 'Ann , 12 , 2026-11-21 ', ' Bob, 7,2026-11-22', '  ,,'),
    tries: [
      {
        columns: 'name text, count text, day text',
        rows: ['Ann  |  12  |  2026-11-21 ', ' Bob |  7 | 2026-11-22'],
        warnings: ['blank-rows', 'other-notation count B2', 'other-notation day C2'],
      },
      {
        query: 'trim=true',
        columns: 'name text, count bigint, day date',
        rows: ['Ann | 12 | 2026-11-21', 'Bob | 7 | 2026-11-22'],
        warnings: ['blank-rows'],
      },
    ],
  },
  {
    name: 'french.csv',
    content: lines('no;montant', '1;1\u202f234,50', '2;12\u00a0000,00', '3;5,00'),
    tries: [
      {
        columns: 'no bigint, montant text',
        rows: ['1 | 1 234,50', '2 | 12 000,00', '3 | 5,00'],
        warnings: ['delimiter', 'other-notation montant B2'],
      },
      {
        query: 'decimal_sign=,&thousands_sign=space',
        columns: 'no bigint, montant numeric',
        rows: ['1 | 1234.50', '2 | 12000.00', '3 | 5.00'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'swiss.csv',
    content: lines('no;amount', "1;1'234.50", '2;5.00', "3;12'000.00"),
    tries: [
      {
        columns: 'no bigint, amount text',
        rows: ["1 | 1'234.50", '2 | 5.00', "3 | 12'000.00"],
        warnings: ['delimiter', 'other-notation amount B2'],
      },
      {
        query: "thousands_sign='",
        columns: 'no bigint, amount numeric',
        rows: ['1 | 1234.50', '2 | 5.00', '3 | 12000.00'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'indian.csv',
    content: lines('no;amount', '1;1,23,456.78', '2;5.00', '3;12,00,000.00'),
    tries: [
      {
        columns: 'no bigint, amount text',
        rows: ['1 | 1,23,456.78', '2 | 5.00', '3 | 12,00,000.00'],
        warnings: ['delimiter', 'other-notation amount B2'],
      },
      {
        query: 'thousands_sign=,',
        columns: 'no bigint, amount numeric',
        rows: ['1 | 123456.78', '2 | 5.00', '3 | 1200000.00'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'points-between-thousands.csv',
    content: lines('no;pieces', '1;1.234', '2;12.000', '3;2.500'),
    tries: [
      {
        columns: 'no bigint, pieces numeric',
        rows: ['1 | 1.234', '2 | 12.000', '3 | 2.500'],
        warnings: ['delimiter', 'other-notation pieces'],
      },
      {
        query: 'decimal_sign=,&thousands_sign=.',
        columns: 'no bigint, pieces bigint',
        rows: ['1 | 1234', '2 | 12000', '3 | 2500'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'mixed-types.csv',
    content: lines('no,value', '1,12', '2,twelve', '3,2026-11-21', '4,true'),
    tries: [
      {
        columns: 'no bigint, value text',
        rows: ['1 | 12', '2 | twelve', '3 | 2026-11-21', '4 | true'],
        warnings: ['mixed-column value B3'],
      },
    ],
  },
  {
    name: 'inches.csv',
    content: lines('no,name,pieces', '1,"Pipe, 12" steel",5', '2,"Board, 8""",6', '3,"Rope" old,7'),
    tries: [
      {
        columns: 'no bigint, name text, pieces bigint',
        rows: ['1 | Pipe, 12" steel | 5', '2 | Board, 8" | 6', '3 | "Rope" old | 7'],
        warnings: ['repaired-quotes'],
      },
    ],
  },
  {
    name: 'inches-in-rows-of-other-lengths.csv',
    content: lines('no,name,pieces', '1,"Pipe, 12" steel",5,,6', '2,Board,6'),
    tries: [
      {
        error: '422 invalid-data',
        problems: ['text-behind-quote name B2'],
        warnings: ['long-rows', 'blank-header column_E'],
      },
    ],
  },
  {
    name: 'formula-texts.csv',
    content: lines('article,name', '="00042",Carrot', '="00043",Leek'),
    tries: [
      {
        columns: 'article text, name text',
        rows: ['00042 | Carrot', '00043 | Leek'],
        warnings: ['text-formulas'],
      },
    ],
  },
  {
    name: 'times.csv',
    content: lines('no,at', '1,14:30', '2,08:05:09'),
    tries: [
      {
        columns: 'no bigint, at text',
        rows: ['1 | 14:30', '2 | 08:05:09'],
        warnings: ['other-notation at B2'],
      },
      {
        query: 'extra_columns=add',
        definition: { columns: [{ name: 'at', type: 'time' }] },
        columns: 'at time without time zone, no bigint',
        rows: ['14:30:00 | 1', '08:05:09 | 2'],
      },
    ],
  },
];

const shapes: MessyFile[] = [
  {
    name: 'odd-headers.csv',
    content: lines(`id,Amount,Amount,,${'Ärger '.repeat(12).trim()},amount`, '1,2,3,4,5,6'),
    tries: [
      {
        columns:
          'id bigint, Amount bigint, Amount_2 bigint, column_D bigint, Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger bigint, amount bigint',
        rows: ['1 | 2 | 3 | 4 | 5 | 6'],
        warnings: [
          'repeated-header Amount_2',
          'blank-header column_D',
          'shortened-header Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger',
        ],
      },
    ],
  },
  {
    name: 'system-column.csv',
    content: lines('id,ctid,order', '1,2,3'),
    tries: [
      { error: '422 invalid-data', problems: ['invalid-name ctid B1'] },
      { query: 'rename=ctid:row_no', columns: 'id bigint, row_no bigint, order bigint', rows: ['1 | 2 | 3'] },
    ],
  },
  {
    name: 'header-with-line-break.csv',
    content: lines('"Order', 'no",Amount', '1,2'),
    tries: [{ columns: 'Order\nno bigint, Amount bigint', rows: ['1 | 2'] }],
  },
  {
    name: 'ragged.csv',
    content: lines('id,name,city', '1,Ann', '2,Bob,Graz,late', '3,Cy,Lyon'),
    tries: [
      {
        columns: 'id bigint, name text, city text, column_D text',
        rows: ['1 | Ann | NULL | NULL', '2 | Bob | Graz | late', '3 | Cy | Lyon | NULL'],
        warnings: ['short-rows', 'long-rows', 'blank-header column_D'],
      },
    ],
  },
  {
    name: 'trailing-delimiters.csv',
    content: lines('id,name,,', '1,Ann,,', '2,Bob,,', ',,,', ',,,'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann', '2 | Bob'] }],
  },
  {
    name: 'blank-lines.csv',
    content: lines('', '', 'id,name', '', '1,Ann', '', '', '2,Bob', '', '   ', ''),
    tries: [
      {
        columns: 'id bigint, name text',
        rows: ['1 | Ann', '2 | Bob'],
        warnings: ['short-rows', 'blank-rows'],
      },
    ],
  },
  {
    name: 'header-only.csv',
    content: lines('id,name'),
    tries: [
      { error: '422 nothing-to-load', says: 'no row with a value below its header', warnings: ['no-rows'] },
    ],
  },
  {
    name: 'empty.csv',
    content: Buffer.alloc(0),
    tries: [{ error: '422 unsupported-file', says: 'Send a file with at least a row of column names' }],
  },
  {
    name: 'one-column.csv',
    content: lines('email', 'ann@example.com', 'bob@example.com'),
    tries: [{ columns: 'email text', rows: ['ann@example.com', 'bob@example.com'] }],
  },
];

const bytes: MessyFile[] = [
  {
    name: 'byte-order-mark.csv',
    content: lines('\ufeffid;name', '1;Zoë'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Zoë'], warnings: ['delimiter'] }],
  },
  {
    name: 'unicode-text.csv',
    content: Buffer.from('\ufeffid\tname\r\n00042\tZoë €\r\n', 'utf16le'),
    tries: [{ columns: 'id text, name text', rows: ['00042 | Zoë €'], warnings: ['delimiter', 'encoding'] }],
  },
  {
    name: 'big-endian.csv',
    content: Buffer.from('\ufeffid,name\r\n1,Zoë €\r\n', 'utf16le').swap16(),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Zoë €'], warnings: ['encoding'] }],
  },
  {
    name: 'windows-1252.csv',
    content: Buffer.from('id;name\r\n1;Müller \x96 S\xf6hne \x80\r\n', 'latin1'),
    tries: [
      {
        columns: 'id bigint, name text',
        rows: ['1 | Müller – Söhne €'],
        warnings: ['delimiter', 'encoding'],
      },
    ],
  },
  {
    name: 'windows-1250.csv',
    content: Buffer.from('id;name\r\n1;\x8alechta\r\n2;\x9elu\x9d\r\n', 'latin1'),
    tries: [
      {
        columns: 'id bigint, name text',
        rows: ['1 | Šlechta', '2 | žlu'],
        warnings: ['delimiter', 'encoding'],
      },
      {
        query: 'encoding=windows-1250',
        columns: 'id bigint, name text',
        rows: ['1 | Šlechta', '2 | žluť'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'one-bad-byte.csv',
    content: Buffer.concat([
      lines('id,name', '1,Zoë', '2,Ørsted'),
      Buffer.from('3,M\xfcller\n', 'latin1'),
      lines('4,Ünal', '5,Škoda'),
    ]),
    tries: [{ error: '400 invalid-file', says: 'Line 4 of the file' }],
  },
  {
    name: 'old-mac.csv',
    content: Buffer.from('id,name\r1,Ann\r2,Bob\r'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann', '2 | Bob'] }],
  },
  {
    name: 'mixed-line-ends.csv',
    content: Buffer.from('id,name\r\n1,Ann\n2,Bob\r3,Cy\r\n4,Dee'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann', '2 | Bob', '3 | Cy', '4 | Dee'] }],
  },
  {
    name: 'quotes.csv',
    content: lines('id,note', '1,"a, b"', '2,"say ""hi"""', '3,"two', 'lines"', '4,5" pipe', '5,""'),
    tries: [
      {
        columns: 'id bigint, note text',
        rows: ['1 | a, b', '2 | say "hi"', '3 | two\nlines', '4 | 5" pipe', '5 | NULL'],
      },
    ],
  },
  {
    name: 'open-quote.csv',
    content: lines('id,note', '1,"never closed', '2,x'),
    tries: [
      {
        columns: 'id bigint, note text',
        rows: ['1 | "never closed', '2 | x'],
        warnings: ['repaired-quotes'],
      },
    ],
  },
  {
    name: 'open-quote-above-a-short-row.csv',
    content: lines('id,note', '1,"never closed', '2'),
    tries: [
      { error: '400 invalid-file', says: 'send quote=none' },
      {
        query: 'quote=none',
        columns: 'id bigint, note text',
        rows: ['1 | "never closed', '2 | NULL'],
        warnings: ['short-rows'],
      },
    ],
  },
  {
    name: 'text-behind-quote.csv',
    content: lines('id,note', '1,"abc"def', '2,x'),
    tries: [
      {
        columns: 'id bigint, note text',
        rows: ['1 | "abc"def', '2 | x'],
        warnings: ['repaired-quotes'],
      },
      { query: 'quotes=strict', error: '422 invalid-data', problems: ['text-behind-quote note B2'] },
      { query: 'quote=none', columns: 'id bigint, note text', rows: ['1 | "abc"def', '2 | x'] },
    ],
  },
  {
    name: 'single-quotes.csv',
    content: lines('id,note', "1,'a, b'", "2,'c'"),
    tries: [
      {
        columns: 'id bigint, note text, column_C text',
        rows: ["1 | 'a |  b'", "2 | 'c' | NULL"],
        warnings: ['long-rows', 'blank-header column_C'],
      },
      { query: "quote='", columns: 'id bigint, note text', rows: ['1 | a, b', '2 | c'] },
    ],
  },
  {
    name: 'tabs.csv',
    content: lines('id\tname', '1\tAnn, Bob', '2\tCy; Dee'),
    tries: [
      { columns: 'id bigint, name text', rows: ['1 | Ann, Bob', '2 | Cy; Dee'], warnings: ['delimiter'] },
    ],
  },
  {
    name: 'sep-line.csv',
    content: lines('sep=;', 'id;name', '1;Ann, Bob'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann, Bob'], warnings: ['delimiter'] }],
  },
  {
    name: 'bars.csv',
    content: lines('id|name', '1|Ann, Bob', '2|Cy'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann, Bob', '2 | Cy'], warnings: ['delimiter'] }],
  },
  {
    name: 'carets.csv',
    content: lines('id^name', '1^Ann', '2^Bob'),
    tries: [{ columns: 'id^name text', rows: ['1^Ann', '2^Bob'] }],
  },
  {
    name: 'commas-in-numbers.csv',
    content: lines('a;b', '1,5;2,5', '3,5;4,5'),
    tries: [
      {
        columns: 'a text, b text',
        rows: ['1,5 | 2,5', '3,5 | 4,5'],
        warnings: ['delimiter', 'other-notation a A2', 'other-notation b B2'],
      },
      {
        query: 'decimal_sign=,',
        columns: 'a numeric, b numeric',
        rows: ['1.5 | 2.5', '3.5 | 4.5'],
        warnings: ['delimiter'],
      },
    ],
  },
  {
    name: 'signs-for-no-value.csv',
    content: lines(
      'area,rate,km2,pop,code',
      'North,1,2,3,17',
      'South,4,5,6,18',
      'East,7,8,9,20',
      'West,:,..,****,007',
    ),
    tries: [
      {
        columns: 'area text, rate text, km2 text, pop text, code text',
        rows: [
          'North | 1 | 2 | 3 | 17',
          'South | 4 | 5 | 6 | 18',
          'East | 7 | 8 | 9 | 20',
          'West | : | .. | **** | 007',
        ],
        warnings: [
          'mixed-column rate B5',
          'mixed-column km2 C5',
          'mixed-column pop D5',
          'mixed-column code E5',
        ],
      },
      {
        query: 'null_values=:,..,****',
        columns: 'area text, rate bigint, km2 bigint, pop bigint, code text',
        rows: [
          'North | 1 | 2 | 3 | 17',
          'South | 4 | 5 | 6 | 18',
          'East | 7 | 8 | 9 | 20',
          'West | NULL | NULL | NULL | 007',
        ],
        warnings: ['mixed-column code E5'],
      },
    ],
  },
  {
    name: 'nul-byte.csv',
    content: lines('id,name', '1,A\0nn', '2,Bob'),
    tries: [{ error: '422 unsupported-file' }],
  },
  {
    name: 'ctrl-z.csv',
    content: Buffer.from('id,name\r\n1,Ann\r\n\x1a'),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann'] }],
  },
  {
    name: 'web-page.xls',
    content: Buffer.from('<html><body><table><tr><td>id</td></tr><tr><td>1</td></tr></table></body></html>'),
    tries: [{ error: '422 unsupported-file', says: 'save it as .xlsx or .csv' }],
  },
  {
    name: 'rows.json.csv',
    content: Buffer.from('[{"id": 1}]'),
    tries: [{ error: '422 unsupported-file', says: 'Send it to /upload/json' }],
  },
];

export const textFiles: MessyFile[] = [...notations, ...shapes, ...bytes];
