/** Errors of the framework and of the parsers are answered like all other errors: as `application/problem+json`. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { errorCatalogue } from '../../src/core/errors.ts';
import { assertProblem } from '../support/problem.ts';
import { chunk, openSocket, parseAnswer, rawRequest } from '../support/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let token: string;

before(async () => {
  service = await startTestService({
    MAX_BODY_BYTES: '200000',
    MAX_DEFINITION_BYTES: '5000',
  });
  token = await service.token();
});
after(() => service.stop());

const json = { 'content-type': 'application/json' };
const table = { columns: [{ name: 'a', type: 'text' }] };

suite('paths', () => {
  const paths = [
    '/api',
    '/api/v1',
    '/api/v1/table',
    '/api/v1/tables/a',
    '/api/v2/table/a',
    '/api/v1/table/a/upload',
    '/api/v1/table/a/upload/csv',
  ];
  for (const path of paths) {
    test(`${path} is answered with 404, with and without a body`, async () => {
      assertProblem(await service.get(path), 404, 'path-not-found');
      assertProblem(
        await service.request('POST', path, { headers: json, body: '{}' }),
        404,
        'path-not-found',
      );
    });
  }

  test('a path with a slash at the end or in another case is not found', async () => {
    assertProblem(await service.get('/API/v1/table/a'), 404, 'path-not-found');
    assertProblem(await service.post('/api/v1/table/a/upload/json/', {}), 404, 'path-not-found');
  });

  test('a path with a broken percent-encoding is refused with 400', async () => {
    assertProblem(await rawRequest(service.url, get('/api/v1/table/%E0%A4%A')), 400, 'invalid-request');
    assertProblem(await rawRequest(service.url, get('/%')), 400, 'invalid-request');
  });

  test('a path without the name of a table is refused with 422', async () => {
    assertProblem(await service.get('/api/v1/table/'), 422, 'invalid-parameter');
  });

  test('a table name of a thousand bytes in the path is refused as too long', async () => {
    assertProblem(await service.get(`/table/${'x'.repeat(1000)}`), 422, 'invalid-parameter');
    assertProblem(
      await service.get(`/table/${encodeURIComponent('🙂'.repeat(500))}`),
      422,
      'invalid-parameter',
    );
  });
});

suite('methods', () => {
  const allowed: Record<string, string[]> = {
    '/api/v1/table/a': ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'],
    '/api/v1/table/a/upload/json': ['POST'],
    '/api/v1/table/a/upload/excel': ['POST'],
    '/healthz': ['GET', 'HEAD'],
    '/readyz': ['GET', 'HEAD'],
    '/version': ['GET', 'HEAD'],
  };
  for (const [path, methods] of Object.entries(allowed)) {
    test(`${path} answers ${methods} and refuses the others with 405`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (methods.includes(method)) continue;
        const hasBody = method !== 'GET' && method !== 'OPTIONS';
        const answer = await service.request(
          method,
          path,
          hasBody ? { headers: json, body: '{}' } : { token: null },
        );
        assertProblem(answer, 405, 'method-not-allowed');
        assert.equal(answer.headers.get('allow'), methods.join(', '));
      }
    });
  }
});

suite('content', () => {
  for (const accept of [
    'text/html',
    'text/csv, image/*;q=0.8',
    'application/xml',
    'application/json;q=0, */*; q=0.0',
    'application/json;q=0, */*',
  ]) {
    test(`a request with Accept: ${accept} is refused with 406`, async () => {
      assertProblem(await service.get('/table/a', { headers: { accept } }), 406, 'not-acceptable');
    });
  }
  for (const accept of [
    '*/*',
    'application/*',
    'application/json;q=0.5, text/html',
    'application/problem+json',
    '',
  ]) {
    test(`a request with Accept: "${accept}" is answered`, async () => {
      assertProblem(await service.get('/table/a', { headers: { accept } }), 404, 'table-not-found');
    });
  }

  for (const path of ['/table/a', '/table/a/upload/json']) {
    for (const type of [
      'text/plain',
      'text/csv',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'nonsense',
    ]) {
      test(`a body of the type ${type} for ${path} is refused with 415`, async () => {
        const answer = await service.request('POST', path, {
          headers: { 'content-type': type },
          body: 'a,b\r\n',
        });
        assertProblem(answer, 415, 'unsupported-media-type');
      });
    }
    test(`a body without a content type for ${path} is refused with 415`, async () => {
      assertProblem(
        await service.request('POST', path, { body: Buffer.from('{}') }),
        415,
        'unsupported-media-type',
      );
      assertProblem(await service.request('POST', path), 400, 'invalid-json');
    });
    test(`a JSON body with a charset for ${path} is accepted`, async () => {
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      const answer = await service.request('POST', `${path}?schema=nowhere`, {
        headers,
        body: JSON.stringify({ table }),
      });
      assertProblem(answer, 404, 'schema-not-found');
    });
  }
  for (const type of [
    'application/json',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'multipart/mixed; boundary=x',
  ]) {
    test(`a body of the type ${type} for upload/excel is refused with 415`, async () => {
      const answer = await service.request('POST', '/table/a/upload/excel', {
        headers: { 'content-type': type },
        body: '{}',
      });
      assertProblem(answer, 415, 'unsupported-media-type');
    });
  }
  test('a 415 names the sent type and the accepted body', async () => {
    const cases: [path: string, type: string, detail: string][] = [
      [
        '/table/a/upload/json',
        'text/csv',
        'The content type "text/csv" is not accepted here: send application/json with {"data": […]} or an array of rows, application/x-ndjson with a row on each line, or a spreadsheet or text file to upload/excel.',
      ],
      [
        '/table/a',
        'application/x-ndjson',
        'The content type "application/x-ndjson" is not accepted here: send application/json with {"table": {"columns": […]}}.',
      ],
      [
        '/table/a',
        'application/x-www-form-urlencoded',
        'The content type "application/x-www-form-urlencoded" is not accepted here: send application/json with {"table": {"columns": […]}}.',
      ],
      [
        '/table/a/upload/excel',
        'application/octet-stream',
        'The content type "application/octet-stream" is not accepted here: send multipart/form-data with the spreadsheet in a part named "file" (curl -F file=@workbook.xlsx).',
      ],
    ];
    for (const [path, type, detail] of cases) {
      const answer = await service.request('POST', path, { headers: { 'content-type': type }, body: 'x' });
      assert.equal(assertProblem(answer, 415, 'unsupported-media-type').detail, detail);
    }
    const without = await service.request('POST', '/table/a', { body: Buffer.from('{}') });
    assert.match(without.body.detail, /^The request has no Content-Type: send application\/json/);
  });
  test('the error for if_exists=upsert or on_conflict=upsert names the two parameters to send', async () => {
    for (const query of ['if_exists=upsert', 'on_conflict=upsert', 'on_conflict=replace']) {
      const answer = await service.post(`/table/a/upload/json?${query}`, { data: [] });
      const { detail } = assertProblem(answer, 422, 'invalid-parameter');
      assert.match(detail, /For an upsert send if_exists=append&on_conflict=update\.$/);
    }
  });
});

suite('bodies', () => {
  test('a body that is not JSON is refused with 400 and the position of the wrong byte', async () => {
    for (const path of ['/table/a', '/table/a/upload/json']) {
      const answer = await service.request('POST', path, { headers: json, body: '{"table": nope}' });
      assert.match(assertProblem(answer, 400, 'invalid-json').detail, /Byte 11/);
      const cut = await service.request('POST', path, { headers: json, body: '{"table": {"columns": [' });
      assert.match(assertProblem(cut, 400, 'invalid-json').detail, /byte 23/);
    }
  });

  test('a body that is nested too deeply is refused with 413', async () => {
    const answer = await service.request('POST', '/table/a', {
      headers: json,
      body: `{"table":${'['.repeat(1000)}`,
    });
    assertProblem(answer, 413, 'limit-exceeded');
  });

  test('a body whose stated size is over the limit is refused with 413 before it is read', async () => {
    for (const [path, size, setting] of [
      ['/table/a', 5001, /5,000 bytes \(MAX_DEFINITION_BYTES\)/],
      ['/table/a/upload/json', 200_001, /200,000 bytes \(MAX_BODY_BYTES\)/],
    ] as const) {
      const answer = await service.request('POST', path, { headers: json, body: ' '.repeat(size) });
      assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, setting);
    }
  });

  test('a body without a stated size that grows over the limit is refused, and the sending client sees the answer', async () => {
    for (const query of ['', '?extra_columns=add']) {
      const answer = await sendUntilAnswered(
        `/table/a/upload/json${query}`,
        JSON.stringify({ table }).replace(/}$/, ',"data":['),
        '{"a":"x"},'.repeat(1000),
      );
      assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, /200,000 bytes \(MAX_BODY_BYTES\)/);
    }
    const answer = await sendUntilAnswered('/table/a', ' ', ' '.repeat(1000));
    assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, /5,000 bytes \(MAX_DEFINITION_BYTES\)/);
  });

  test('a body without a stated size that grows over the limit is answered before its rest arrives', async () => {
    for (const [path, start] of [
      [
        '/table/a/upload/json',
        `${JSON.stringify({ table }).replace(/}$/, ',"data":[')}${'{"a":"x"},'.repeat(20_001)}`,
      ],
      ['/table/a', ' '.repeat(5001)],
    ] as const) {
      const socket = await openSocket(service.url);
      socket.write(head('POST', `/api/v1${path}`, { ...json, 'transfer-encoding': 'chunked' }));
      // The client never sends the last chunk.
      socket.write(chunk(start));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      assertProblem(parseAnswer(answer.toString()), 413, 'limit-exceeded');
      assert.ok(socket.writable, 'the connection is still open');
      socket.destroy();
    }
  });

  test('a body over the limit is read to its end for a client that reads the answer only then', async () => {
    const size = 8 * 1024 * 1024;
    const socket = await openSocket(service.url);
    socket.write(head('POST', '/api/v1/table/a/upload/json', { ...json, 'content-length': String(size) }));
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(Buffer.alloc(size, ' '), () => resolve());
    });
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
    socket.destroy();
    assertProblem(parseAnswer(answer.toString()), 413, 'limit-exceeded');
  });

  test('a client whose body is refused in the middle sees the answer', async () => {
    const unknown = { columns: [{ name: 'a', type: 'nonesuch' }] };
    const start = JSON.stringify({ table: unknown }).replace(/}$/, ',"data":[');
    const rows = '{"a":"x"},'.repeat(500);
    assertProblem(await sendUntilAnswered('/table/a/upload/json', start, rows), 422, 'invalid-definition');
    assertProblem(
      await sendUntilAnswered(
        '/table/a/upload/json',
        `${JSON.stringify({ table }).replace(/}$/, ',"data":[')}!`,
        rows,
      ),
      400,
      'invalid-json',
    );
    assertProblem(await sendUntilAnswered('/table/a/upload/json', '!', rows), 400, 'invalid-json');
    assertProblem(
      await sendUntilAnswered('/table/a/upload/json?schema=nowhere', start, rows),
      404,
      'schema-not-found',
    );
    assertProblem(await sendUntilAnswered('/nowhere', start, rows), 404, 'path-not-found');
  });

  test('a client that waits for "100 Continue" does not send the body of a refused request', async () => {
    const headers = { ...json, 'content-length': '1000000', expect: '100-continue' };
    const socket = await openSocket(service.url);
    socket.write(
      head('POST', '/api/v1/table/a/upload/json?schema=nowhere', { ...headers, authorization: '' }),
    );
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
    socket.destroy();
    assertProblem(parseAnswer(answer.toString()), 401, 'missing-token');
  });

  test('a schema that does not exist is answered before the rows are sent', async () => {
    for (const ifExists of ['fail', 'append', 'truncate', 'replace']) {
      for (const type of ['application/json', 'application/x-ndjson']) {
        const socket = await openSocket(service.url);
        const path = `/api/v1/table/a/upload/json?schema=nowhere&if_exists=${ifExists}`;
        const headers = { 'content-type': type, 'content-length': '100000', expect: '100-continue' };
        socket.write(head('POST', path, headers));
        const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
        socket.destroy();
        assertProblem(parseAnswer(answer.toString()), 404, 'schema-not-found');
      }
    }
  });

  test('a definition that differs from the table is answered before the rows, and before problems of cells', async () => {
    await service.rows('CREATE TABLE differs (id int, v int)');
    const start = JSON.stringify({ table: { columns: [{ name: 'id', type: 'text' }] } }).replace(
      /}$/,
      ',"data":[',
    );
    for (const query of [
      'if_exists=append',
      'if_exists=truncate',
      'if_exists=append&faulty_rows=leave_out',
    ]) {
      const socket = await openSocket(service.url);
      const path = `/api/v1/table/differs/upload/json?${query}`;
      socket.write(head('POST', path, { ...json, 'transfer-encoding': 'chunked' }));
      // The client never sends the other rows.
      socket.write(chunk(`${start}{"id":1,"v":"x"},`));
      const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
      socket.destroy();
      const { errors } = assertProblem(parseAnswer(answer.toString()), 422, 'invalid-definition');
      assert.deepEqual(
        errors.map(({ pointer, code }) => [pointer, code]),
        [['/table/columns/0/type', 'differs']],
      );
    }
    const late = await service.post('/table/differs/upload/json?if_exists=append', {
      data: [{ id: 1, v: 'x' }],
      table: { columns: [{ name: 'id', type: 'text' }] },
    });
    assertProblem(late, 422, 'invalid-definition');
    assert.deepEqual(await service.rows('SELECT * FROM differs'), []);
  });

  test('a client that waits for "100 Continue" gets it if the request is not refused', async () => {
    const body = '{"data": [{"a": 1}]}';
    const headers = {
      ...json,
      'content-length': String(body.length),
      expect: '100-continue',
      connection: 'close',
    };
    const socket = await openSocket(service.url);
    socket.write(head('POST', '/api/v1/table/waited/upload/json', headers));
    const [first] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
    assert.equal(first.toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(body);
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 201 /);
    socket.destroy();
  });

  test('a body that stops arriving is refused with 408', async (t) => {
    // All other bodies of this file may arrive slowly.
    const hasty = await startTestService({ BODY_IDLE_TIMEOUT_MS: '1000' });
    t.after(() => hasty.stop());
    const socket = await openSocket(hasty.url);
    socket.write(
      head('POST', '/api/v1/table/a/upload/json', { ...json, 'transfer-encoding': 'chunked' }) +
        '5\r\n{"dat\r\n',
    );
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
    socket.destroy();
    assertProblem(parseAnswer(answer.toString()), 408, 'request-timeout');
  });

  test('a body that ends before its stated size closes the connection, and the service continues', async () => {
    const socket = await openSocket(service.url);
    socket.end(
      `${head('POST', '/api/v1/table/a/upload/json', { ...json, 'content-length': '100' })}{"data":[]}`,
    );
    socket.resume();
    assert.equal((await service.get('/healthz')).status, 200);
  });

  const parts = (text: string) => text.replaceAll('\n', '\r\n');
  const part = (name: string, file = '') =>
    `--x\nContent-Disposition: form-data; name="${name}"${file && `; filename="${file}"`}\n\nx\n`;
  const multiparts: [string, string, number, 'invalid-multipart' | 'invalid-parameter'][] = [
    ['empty', '', 400, 'invalid-multipart'],
    ['text without the boundary', 'hello', 400, 'invalid-multipart'],
    ['cut off in a part', part('file', 'a.xlsx'), 400, 'invalid-multipart'],
    ['cut off in the headers', '--x\nContent-Disposition: form-da', 400, 'invalid-multipart'],
    ['a part without a name', '--x\nContent-Type: text/plain\n\nx\n--x--\n', 422, 'invalid-parameter'],
  ];
  for (const [title, text, status, code] of multiparts) {
    test(`a multipart body that is ${title} is refused with ${status}`, async () => {
      const answer = await service.request('POST', '/table/a/upload/excel', {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: Buffer.from(parts(text)),
      });
      assertProblem(answer, status, code);
    });
  }
  for (const [part, content, code] of [
    ['patch', '[{"row":1,"column":"note","value":"M\u00fcller"}]', 'invalid-parameter'],
    ['body', '{"table":{"columns":[{"name":"note","type":"text","default":"M\u00fcller"}]}}', 'invalid-json'],
    ['source', '{"from_url":"https://example.com/M\u00fcller.csv"}', 'invalid-parameter'],
  ] as const) {
    test(`a part ${part} that is not UTF-8 is refused, and not read with other characters`, async () => {
      const disposition = '\r\nContent-Disposition: form-data; name=';
      const file = part === 'source' ? '' : `--x${disposition}"file"; filename="a.csv"\r\n\r\nnote\na\n\r\n`;
      const form = `--x${disposition}"${part}"\r\n\r\n${content}\r\n${file}--x--\r\n`;
      const answer = await service.request('POST', '/table/not_utf8/upload/excel', {
        body: Buffer.from(form, 'latin1'),
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      });
      assert.equal(answer.body.code, code, JSON.stringify(answer.body));
    });
  }

  test('a multipart body without a boundary in its content type is refused with 400', async () => {
    const answer = await service.request('POST', '/table/a/upload/excel', {
      headers: { 'content-type': 'multipart/form-data' },
      body: '--x--',
    });
    assertProblem(answer, 400, 'invalid-multipart');
  });
  test('a boundary without end is refused with 400', async () => {
    const boundary = 'x'.repeat(250);
    const answer = await service.request('POST', '/table/a/upload/excel', {
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: `--${boundary}--`,
    });
    assert.match(assertProblem(answer, 400, 'invalid-multipart').detail, /at most 70 characters/);
  });
  test('a form with too many parts is refused with 413, so that none of them is ignored', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const body = parts(`${part('file', 'a.csv')}${'--x\n\nx\n'.repeat(9)}${part('body')}--x--\n`);
    const answer = await service.request('POST', '/table/many_parts/upload/excel', { headers, body });
    assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, /10 parts/);
    assert.equal((await service.get('/table/many_parts')).status, 404);
    const plan = parts(`${'--x\n\nx\n'.repeat(11)}--x--\n`);
    assertProblem(
      await service.request('POST', '/api/v1/loads', { headers, body: plan }),
      413,
      'limit-exceeded',
    );
  });
  test('a multipart body over the limit is refused with 413', async () => {
    const answer = await service.upload('/table/a/upload/excel', randomBytes(250_000));
    assertProblem(answer, 413, 'limit-exceeded');
    const start = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
    const unstated = await sendUntilAnswered(
      '/table/a/upload/excel',
      start,
      'x'.repeat(1000),
      'multipart/form-data; boundary=x',
    );
    assertProblem(unstated, 413, 'limit-exceeded');
  });
});

suite('query parameters', () => {
  const manyParameters =
    'extra_columns if_exists on_conflict dry_run date_order decimal_sign thousands_sign trim header_row header footer column_names cell_errors quote'.split(
      ' ',
    );
  const cases: [string, string, string, string[]][] = [
    ['an unknown parameter', '/table/a/upload/json', '?dryrun=true', ['unknown-parameter dryrun']],
    [
      'a value that the parameter does not have',
      '/table/a/upload/json',
      '?if_exists=drop',
      ['invalid-parameter if_exists'],
    ],
    ['a word for a boolean', '/table/a', '?if_not_exists=yes', ['invalid-parameter if_not_exists']],
    ['an empty value', '/table/a/upload/json', '?if_exists=', ['invalid-parameter if_exists']],
    ['a parameter given twice', '/table/a/upload/json', '?schema=a&schema=b', ['invalid-parameter schema']],
    ['0 for a number from 1 on', '/table/a/upload/excel', '?header_row=0', ['invalid-parameter header_row']],
    [
      'several problems',
      '/table/a/upload/excel',
      '?x=1&dry_run=1&if_exists=no',
      ['unknown-parameter x', 'invalid-parameter if_exists', 'invalid-parameter dry_run'],
    ],
    [
      'a problem in each of fourteen parameters',
      '/table/a/upload/excel',
      `?${manyParameters.map((name) => `${name}=x`).join('&')}`,
      manyParameters.map((name) => `invalid-parameter ${name}`),
    ],
    [
      'the name of a property of every object',
      '/table/a',
      '?constructor=1',
      ['unknown-parameter constructor'],
    ],
  ];
  for (const [title, path, query, expected] of cases) {
    test(`a query with ${title} is refused with 422, which names each problem`, async () => {
      const isExcel = path.endsWith('excel');
      const answer = await (isExcel
        ? service.upload(path + query, Buffer.from(''))
        : service.post(path + query, {}));
      const { errors } = assertProblem(answer, 422, 'invalid-parameter');
      assert.deepEqual(
        errors.map((error) => `${error.code} ${error.parameter}`),
        expected,
      );
    });
  }
});

suite('requests that are not valid HTTP', () => {
  test('a request with headers that are too large is refused with 431', async () => {
    const answer = await rawRequest(service.url, head('GET', '/healthz', { 'x-long': 'x'.repeat(20_000) }));
    assertProblem(answer, 431, 'headers-too-large');
  });
  for (const [title, text] of [
    ['words instead of HTTP', 'hello there\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n'],
    ['two Host headers', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    ['no Host header', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [
      'two lengths of its body',
      'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    ['the start of TLS', Buffer.from('16030100010100', 'hex')],
  ] as const) {
    test(`a request with ${title} is refused with 400`, async () => {
      assertProblem(await rawRequest(service.url, Buffer.from(text as string)), 400, 'invalid-request');
    });
  }
  test('an upload with an invalid chunk in the middle is refused with 400', async () => {
    const headers = { ...json, 'transfer-encoding': 'chunked' };
    const request = `${head('POST', '/api/v1/table/a/upload/json', headers)}${chunk('{"data":[{"a":1},')}zz\r\n`;
    assertProblem(await rawRequest(service.url, request), 400, 'invalid-request');
    assert.equal((await service.get('/healthz')).status, 200);
  });
});

suite('every answer', () => {
  test('every answer forbids browsers to guess types and to send the referrer, and caches to keep data', async () => {
    await service.post('/table/cached', { table });
    for (const path of ['/healthz', '/', '/docs/errors', '/openapi.json', '/nowhere', '/table/cached']) {
      const { headers } = await service.get(path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
    }
    const described = await service.get('/table/cached');
    assert.equal(described.status, 200);
    assert.equal(described.headers.get('cache-control'), 'no-store');
  });

  test('the answer to a request without a route has the same headers, and no cache may keep it', async () => {
    const oddRequests: [string, number, string | Buffer][] = [
      ['no HTTP', 400, 'hello there\r\n\r\n'],
      ['headers that are too large', 431, head('GET', '/healthz', { 'x-long': 'x'.repeat(20_000) })],
      ['a malformed path', 400, get('/%')],
      ['a path that is too long', 422, get(`/api/v1/table/${'a'.repeat(9000)}`)],
      ['a method with a body of no type', 415, head('QUERY', '/nowhere', { connection: 'close' })],
      [
        'tiny chunks',
        400,
        `${head('POST', '/api/v1/table/a/upload/json', { ...json, 'transfer-encoding': 'chunked' })}${'1\r\n \r\n'.repeat(5000)}`,
      ],
      [
        'no token and no end of the body',
        401,
        head('POST', '/api/v1/table/a', { ...json, authorization: '', 'content-length': '5' }),
      ],
      ['two Hosts', 400, 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    ];
    for (const [title, status, request] of oddRequests) {
      const answer = await firstAnswer(request);
      assert.equal(answer.status, status, title);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json', title);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', title);
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer', title);
      assert.equal(answer.headers.get('cache-control'), 'no-store', title);
      assert.match(answer.headers.get('content-security-policy')!, /^default-src 'none'/, title);
      assert.equal(`urn:uuid:${answer.headers.get('x-request-id')}`, answer.body.instance, title);
    }
  });

  test('no request without a token makes the service fail', async () => {
    const paths = [
      '/docs/static/%00',
      '/docs/static/%ff',
      '/docs/static/..%2f..%2fpackage.json',
      '//',
      '/%2f',
      '/%',
      '*',
      '?',
      'http://other/healthz',
      '/docs/errors/__proto__',
      '/docs/errors/%00',
      '/api/v1/table/%00',
      '/api/v1/table/a%2fb',
      `/docs/static/${'a'.repeat(5000)}`,
      `/api/v1/table/${'a'.repeat(9000)}`,
      `/${'x/'.repeat(4000)}`,
    ];
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH'];
    const requests = paths.flatMap((path) =>
      methods.map((method) => `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
    );
    requests.push(
      'GET /healthz HTTP/1.0\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
    );
    for (const request of requests) {
      const status = await firstStatus(request);
      assert.ok(status >= 200 && status < 500, `${status}: ${request.slice(0, 60)}`);
    }
  });

  test('a path outside of the folder of the reference page is answered with 404', async () => {
    for (const path of [
      '/docs/static/%00',
      '/docs/static/../../package.json',
      '/docs/static/%2e%2e/package.json',
    ]) {
      assertProblem(await rawRequest(service.url, get(path)), 404, 'path-not-found');
    }
  });

  test('each answer has a new request id', async () => {
    const answers = await Promise.all([
      service.get('/healthz'),
      service.get('/nowhere'),
      service.get('/table/none'),
    ]);
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.match(id ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(answers[1]!.body.instance, `urn:uuid:${ids[1]}`);
    assert.equal(answers[2]!.body.instance, `urn:uuid:${ids[2]}`);
  });

  test('an error links to its documentation', async () => {
    const documented = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    for (const code of Object.keys(errorCatalogue)) {
      if (!documented.includes(code)) continue;
      const answer = await service.get(`/docs/errors/${code}`, { token: null });
      assert.equal(answer.status, 200, code);
      assert.match(answer.headers.get('content-type')!, /^text\/markdown/);
      assert.match(answer.body, new RegExp(code));
    }
    assertProblem(await service.get('/docs/errors/nonesuch'), 404, 'path-not-found');
  });

  test('the links of the served documentation lead to served pages', async () => {
    const { body } = await service.get('/docs/errors/limit-exceeded', { token: null });
    const links = [...(body as string).matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link!);
    assert.ok(links.includes('limits.md'));
    for (const code of Object.keys(errorCatalogue)) {
      const section = (await service.get(`/docs/errors/${code}`, { token: null })).body as string;
      for (const [, link] of section.matchAll(/\]\((?!#|https?:)([^)#]+)/g)) {
        const page = await service.get(new URL(link!, `${service.url}/docs/errors/${code}`).pathname);
        assert.equal(page.status, 200, `${code}: ${link}`);
        assert.match(page.body, /^# /);
      }
    }
  });

  test('the error for an unknown path names the path of the reference', async () => {
    const { detail } = assertProblem(await service.get('/nowhere'), 404, 'path-not-found');
    assert.match(detail, /reference is at \/docs\.$/);
  });
});

/** Returns the status of the first answer, which may have no body. */
async function firstStatus(request: string): Promise<number> {
  const socket = await openSocket(service.url);
  socket.on('error', () => {});
  socket.write(request);
  const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
  socket.destroy();
  return Number(answer.toString('latin1').split(' ')[1]);
}

/** Returns the answer to bytes after which the service may keep the connection. */
async function firstAnswer(request: string | Buffer) {
  const socket = await openSocket(service.url);
  socket.on('error', () => {});
  socket.write(request);
  const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
  socket.destroy();
  return parseAnswer(answer.toString());
}

function get(path: string): string {
  return head('GET', path, { connection: 'close' });
}

function head(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: 'test', authorization: `Bearer ${token}`, ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Sends `start`, and then `more` again and again until the service closes the connection. Returns the answer. */
async function sendUntilAnswered(path: string, start: string, more: string, type = 'application/json') {
  const socket = await openSocket(service.url);
  // The service has closed the connection while the client still sends.
  socket.on('error', () => {});
  const received: Buffer[] = [];
  socket.on('data', (data: Buffer) => received.push(data));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const whole = path.startsWith('/table') ? `/api/v1${path}` : path;
  socket.write(head('POST', whole, { 'content-type': type, 'transfer-encoding': 'chunked' }));
  socket.write(chunk(start));
  const again = chunk(more);
  const send = (): void => {
    while (socket.writable) {
      if (!socket.write(again)) {
        socket.once('drain', send);
        return;
      }
    }
  };
  send();
  await closed;
  return parseAnswer(Buffer.concat(received).toString());
}
