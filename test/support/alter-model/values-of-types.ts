/** Values for the columns of random tables, as PostgreSQL reads them. Each list has values that are exact in one other type and not in another. */

const instants = ['2024-02-29 12:00:00', '1999-12-31 23:59:59.123456', '0044-03-15 00:00:00 BC', 'infinity'];
const wholes = [
  '0',
  '1',
  '-1',
  '7',
  '32767',
  '-32768',
  '2147483647',
  '9007199254740993',
  '9223372036854775807',
];
const fractions = [
  '0',
  '1.5',
  '-0.25',
  '1e-10',
  '0.1',
  '16777217',
  '3.4e38',
  'NaN',
  'Infinity',
  '-0',
  '1e300',
];
const texts = [
  ...['', ' ', 'a', 'abcde', 'abcdefghij', ' 7', '7 ', '7', '007', '1.50', '-3', '1e3', 'NaN', '99999999999'],
  ...[
    'true',
    't',
    'glad',
    '2024-02-29',
    '2024-02-29 12:00:00',
    '2024-02-29T12:00:00+02',
    '12:00',
    '{"a": 1}',
  ],
  ...['é🙂', "it's", '00000000-0000-0000-0000-000000000000', '10.0.0.1', '{1,2}', '\\x00', 'infinity'],
];

const lists: [RegExp, string[]][] = [
  [/\[\]$/, ['{}', '{1,2}', '{a}', '{"a,b",NULL}', '{1.5}', '{glad}', '{{1,2},{3,4}}', '{abc}']],
  [/^(smallint|integer|bigint|oid|positive|public\.positive|serial|public\.serial)/, wholes],
  [
    /^numeric/,
    ['0', '1', '1.5', '1.50', '-2.345', '12345678901234567890.12', '100', 'NaN', '99999.99', '0.005'],
  ],
  [/^(real|double)/, fractions],
  [/^money/, ['1.50', '-3']],
  [/^(text|character|name|"char"|bpchar|short|public\.short)/, texts],
  [/^boolean/, ['true', 'false']],
  [/^timestamp/, instants],
  [/^date/, ['2024-02-29', '0044-03-15 BC', 'infinity', '5874897-12-31', '1900-03-01']],
  [/^time/, ['12:00', '24:00:00', '23:59:59.999999', '00:00:00.5']],
  [/^interval/, ['1 day', '14 mons', '1 day 02:03:04.567891', '-1 mon +2 days']],
  [/^uuid/, ['00000000-0000-0000-0000-000000000000', '6f1f6f0f-6c0e-4a55-9d62-0b7c4f3e5c0e']],
  [/^bytea/, ['\\x', '\\x00ff', 'abc']],
  [/^json/, ['{}', 'null', '{"a": 1,  "a": 2}', '[1, 1.50]', '"x"', '1e5', '{"b": "\\u00e9"}']],
  [/^bit/, ['1', '101', '11', '', '10101']],
  [/^(inet|cidr)/, ['10.0.0.0/8', '10.0.0.1/8', '::1']],
  [/^macaddr/, ['08:00:2b:01:02:03']],
  [/^point/, ['(1,2)', '(0.1,-2)']],
  [/^tsvector/, ["'a' 'b'"]],
  [/^xml/, ['<a/>', 'x']],
  [/range$/, ['empty', '[1,5)', '{[1,2]}', '{}']],
  [/^reg/, ['pg_class']],
  [/mood/, ['glad', "so 'so'"]],
  [/^(pair|public\.pair|owners|public\.owners)/, ['(1,x)', '(2,"y z")', '(,)']],
  [/Target/, ['(1,2,x)']],
];

/** @param type the type as a description has it. Returns an empty list for an unknown type. */
export function valuesOf(type: string): string[] {
  return lists.find(([pattern]) => pattern.test(type))?.[1] ?? [];
}
