/** Dates have no text, and a spreadsheet may repeat them as often as texts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { buildZip } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** Returns an .ods whose row with as many dates as durations is repeated. */
function repeated(count: number, rows: number): Buffer {
  const repetition = `table:number-columns-repeated="${count}"`;
  const cells = `<table:table-cell office:value-type="date" office:date-value="2024-01-31" ${repetition}/>
    <table:table-cell office:value-type="time" office:time-value="PT25H" ${repetition}/>`;
  const row = `<table:table-row table:number-rows-repeated="${rows}">${cells}</table:table-row>`;
  const content = `<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:spreadsheet>
    <table:table table:name="S">${row}</table:table></office:spreadsheet></office:body></office:document-content>`;
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  return buildZip([
    { name: 'mimetype', data: type, isStored: true },
    { name: 'content.xml', data: content },
    {
      name: 'META-INF/manifest.xml',
      data: `<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:m"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/></manifest:manifest>`,
    },
  ]);
}

test('the bytes of dates and durations are limited, counted as often as cells are repeated', async () => {
  const path = '/table/t/upload/excel?header=false&dry_run=true';
  const accepted = await service.upload(path, repeated(100, 10));
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  const { detail } = assertProblem(await service.upload(path, repeated(500, 9000)), 413, 'limit-exceeded');
  assert.match(
    detail,
    /^The cells have too many bytes for a file of this size, up to row 8\d+: the limit is 64 MiB\./,
  );
});
