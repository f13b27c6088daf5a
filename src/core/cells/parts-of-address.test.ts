import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../../test/support/growth.ts';
import { partsOfAddress } from './parts-of-address.ts';

test('the parts of an address come from its end, whatever the name of the sheet is', () => {
  for (const cell of ['C7', 'Orders!C7', "'A1!B2'!C7", "'It''s'!C7"])
    assert.deepEqual(partsOfAddress(cell), { letters: 'C', row: '7' });
  assert.deepEqual(partsOfAddress('Orders!XFD1048576'), { letters: 'XFD', row: '1048576' });
  for (const cell of [undefined, '', '7:7', 'Orders!7:7', 'C', 'Orders!c7'])
    assert.equal(partsOfAddress(cell), undefined);
});

test('the time for an address is proportional to the name of the sheet', async () => {
  await assertLinear((size) => partsOfAddress(`${'A'.repeat(size)}!B2`), 5000);
});
