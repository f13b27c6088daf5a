import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { QuoteRepair } from './quote-repair.ts';

const dialect = { delimiter: 0x2c, quote: 0x22, comment: 0 };

/** Returns what a repair passes on, if it receives the text in slices of this length. */
function repair(text: string, wantedFields: number, sliceBytes = text.length + 1): [string, QuoteRepair] {
  const parts: Buffer[] = [];
  const target = { push: (bytes: Buffer) => void parts.push(Buffer.from(bytes)), wantedFields };
  const filter = new QuoteRepair(target, dialect);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += sliceBytes) filter.push(bytes.subarray(at, at + sliceBytes));
  filter.finish();
  return [Buffer.concat(parts).toString(), filter];
}

test('valid quotes are passed on unchanged, whatever the slices are', () => {
  const field = fc.oneof(
    fc.constantFrom('"a ""b"" c"', '"x,\r\ny"', '""', '6" p'),
    fc.stringMatching(/^[a-c ]*$/),
  );
  const line = fc.array(field, { minLength: 2, maxLength: 4 }).map((fields) => fields.join(','));
  const ends = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(fc.array(line), ends, fc.integer({ min: 1, max: 30 }), (lines, lineEnd, sliceBytes) => {
      const text = lines.map((one) => one + lineEnd).join('');
      const [passed, { repaired }] = repair(text, 3, sliceBytes);
      assert.equal(passed, text);
      assert.equal(repaired, 0);
    }),
  );
});

test('the same is repaired, whatever the slices are', () => {
  const text = 'a,b,c\r\n1,"5" x, y",2\r\n2,q,2\r\n3,"x" y,4,\r\n4,"5"" z",6\r\n5,"open,7';
  const [whole, { repaired, lines }] = repair(text, 3);
  assert.equal(whole, 'a,b,c\r\n1,"5"" x, y",2\r\n2,q,2\r\n3,"x" y,4,\r\n4,"5"" z",6\r\n5,"""open",7');
  assert.deepEqual([repaired, lines], [2, [2, 6]]);
  for (let sliceBytes = 1; sliceBytes < text.length; sliceBytes++)
    assert.equal(repair(text, 3, sliceBytes)[0], whole);
});

test('any text is passed on, and without repairs unchanged', () => {
  const text = fc.stringMatching(/^[ab",\r\n ]*$/, { maxLength: 60 });
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 70 }),
      (one, fields, size) => {
        const [passed, { repaired }] = repair(one, fields, size);
        assert.equal(passed, repair(one, fields)[0]);
        if (repaired === 0) assert.equal(passed, one);
      },
    ),
    { numRuns: 2000 },
  );
});

test('hostile quotes take a bounded time', () => {
  for (const unit of ['"', ',"', '""', '"a,', '"a\n', ',"a""b"c', '","\n', '"x" ,']) {
    const text = unit.repeat(300_000 / unit.length);
    const before = process.cpuUsage();
    repair(text, 3, 65_536);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 3_000_000, `${JSON.stringify(unit)}: ${user / 1000} ms`);
  }
});

test('a record of one character after a faulty one is a record, so the faulty one is not repaired alone', () => {
  for (const value of ['7', '77']) {
    const [passed] = repair(`a,b\n1,"say "x"\n${value}\n8"\n2,b\n`, 2);
    assert.ok(!passed.includes(`"say ""x"\n`), passed);
  }
});

test('the search for a reading has a bound, whatever the number of fields is', () => {
  const line = `${'",","'.repeat(400)}"x\n`;
  const before = process.cpuUsage();
  repair(line.repeat(8), 500);
  const { user } = process.cpuUsage(before);
  const plain = process.cpuUsage();
  for (let round = 0; round < 40; round++) repair('a,b\n'.repeat(4000), 2);
  const { user: usual } = process.cpuUsage(plain);
  assert.ok(user < 40 * usual, `${user} µs of processor time, ${usual} µs for usual lines`);
});

test('lines are counted as CR, LF or CRLF end them, also if a file mixes the three', () => {
  for (const sliceBytes of [1, 7, 100]) {
    const [, { lines }] = repair('a,b\r1,x\r\n2,y\n3,"5" x"\r4,"5" y"\n5,z\n', 2, sliceBytes);
    assert.deepEqual(lines, [4, 5]);
  }
});

test('a long record is repaired or not, whatever the slices are', () => {
  for (const length of [60_000, 65_520, 65_530, 65_536, 66_000, 70_000, 140_000]) {
    const text = `a,b\n1,"5" ${'x'.repeat(length)}"\n2,y\n3,"5" y"\n4,z\n`;
    const [whole, { repaired }] = repair(text, 2);
    assert.equal(repaired, length < 65_525 ? 2 : 1, String(length));
    for (const sliceBytes of [1_000, 65_536, 65_540]) assert.equal(repair(text, 2, sliceBytes)[0], whole);
  }
});

test('after too many records whose quotes are ambiguous, no record is repaired, and the line is known', () => {
  const ambiguous = `${'"a"","",'.repeat(250)}\n`;
  const repairable = '1,"5" x, y",2\n2,q,2\n';
  const [few, before] = repair(repairable + ambiguous.repeat(20) + repairable, 3);
  assert.notEqual(few.indexOf('1,"5"" x, y",2', 100), -1);
  assert.deepEqual([before.repaired, before.endLine], [2, 0]);
  const text = repairable + ambiguous.repeat(400) + repairable;
  const [many, { repaired, endLine }] = repair(text, 3, 10_000);
  assert.equal(many, text.replace('"5"', '"5""'));
  assert.equal(repaired, 1);
  assert.ok(endLine > 22 && endLine < 300, String(endLine));
});
