import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findDialect } from './delimiter.ts';

const delimiterOf = (text: string, isWhole = true): string =>
  String.fromCharCode(findDialect(Buffer.from(text), isWhole).delimiter);

const cases: [title: string, text: string, delimiter: string][] = [
  ['a single column', 'name\nx\ny\n', ','],
  ['nothing', '', ','],
  ['commas', 'a,b\n1,2\n', ','],
  ['semicolons and decimal commas', 'id;price;tax\n1;1,50;0,2\n2;2,50;0,3\n', ';'],
  ['decimal commas in two columns', 'price;tax\n1,50;0,2\n2,50;0,3\n', ';'],
  ['tabs around commas', 'name\tcity\nDoe, Jane\tBonn\nRoe, Richard\tKöln\n', '\t'],
  ['semicolons within fields', 'id,tags\n1,a;b\n2,b;c;d\n3,a;b\n', ','],
  ['semicolons within quotes', 'id,text\n1,"a;b;c"\n2,"d;e;f"\n3,"g;h;i"', ','],
  ['all in quotes', '"a;x";"b"\n"1,2";"3"\n"4,5";"6"\n', ';'],
  ['decimal commas after quoted fields', '"name";price\n"x";1,5\n"y";2,5\n', ';'],
  ['line breaks within quotes', 'id;text\n1;"a,\nb,\nc,\n"\n2;"d,\ne"\n', ';'],
  ['a title above the header', 'Report, May\n\nid;name;city\n1;x;y\n2;z;w\n', ';'],
  ['rows of different lengths', 'a;b;c\n1;2\n1;2;3\n1\n', ';'],
  ['bars', 'id|text|price\n1|a, b|2\n2|c|3\n', '|'],
  ['one record', 'a;b;c,d', ';'],
  ['a tie', 'a,b;c', ','],
  ['numbers with spaces between the thousands', 'Amount in EUR\n1 234 567\n2 345 678\n3 456 789\n', ','],
];

for (const [title, text, delimiter] of cases) {
  test(title, () => {
    assert.equal(delimiterOf(text), delimiter);
    assert.equal(delimiterOf(text.replaceAll('\n', '\r\n')), delimiter);
  });
}

test('a record that is cut at the end of the head is not counted', () => {
  assert.equal(delimiterOf('a,b;c;d\n1,2;', false), ';');
  assert.equal(delimiterOf('x;y\n1;2\n3;4,5,6,7', false), ';');
  assert.equal(delimiterOf('a;b;c', false), ';');
});

test('a first line sep=; decides', () => {
  const found = (text: string): [string, number] => {
    const { delimiter, lineBytes } = findDialect(Buffer.from(text), true);
    return [String.fromCharCode(delimiter), lineBytes];
  };
  assert.deepEqual(found('sep=;\r\na,b\r\n'), [';', 7]);
  assert.deepEqual(found('SEP=|\na|b'), ['|', 6]);
  assert.deepEqual(found('"sep=\t"\n'), ['\t', 8]);
  assert.deepEqual(found('sep=,'), [',', 5]);
  assert.deepEqual(found('sep="\na;b'), [';', 0]);
  assert.deepEqual(found('sep=;;\n1;2;3\n'), [';', 0]);
  assert.deepEqual(found('sepal,petal\n1,2'), [',', 0]);
});

test('the time for a head of only delimiters or quotes grows linearly', () => {
  const bytes = 65_536;
  for (const unit of [',;\t"', '"']) {
    delimiterOf(unit.repeat(bytes / unit.length));
    // The shortest of three rounds each, because another process may use the cache of the processor meanwhile.
    let [short, long] = [Infinity, Infinity];
    for (let round = 0; round < 3; round++) {
      short = Math.min(short, millisecondsOf(unit.repeat(bytes / 16 / unit.length), 480));
      long = Math.min(long, millisecondsOf(unit.repeat(bytes / unit.length), 30));
    }
    // Both read as many bytes. A time that grows with the square would be 16 times as long.
    assert.ok(
      long < 6 * short,
      `${short} ms for short heads, ${long} ms for long ones of ${JSON.stringify(unit)}`,
    );
  }
});

/** The processor time of this thread, because the machine may be busy. It is counted in ticks, so the work is done many times. */
function millisecondsOf(head: string, runs: number): number {
  const start = process.threadCpuUsage();
  for (let run = 0; run < runs; run++) delimiterOf(head);
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
}
