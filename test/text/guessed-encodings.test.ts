/** Text files that are not UTF-8: the encoding is guessed if their letters show it, always with a warning. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { TextDecoder } from '@exodus/bytes/encoding.js';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS places'));

/** Returns the text in an encoding for which there is only a decoder. Each character has one or two bytes. */
function encode(text: string, encoding: string): Buffer {
  const decoder = new TextDecoder(encoding);
  const byCharacter = new Map<string, number[]>();
  for (let one = 255; one >= 0; one--) {
    for (let two = 255; one >= 0x80 && two >= 0x40; two--)
      byCharacter.set(decoder.decode(Uint8Array.of(one, two)), [one, two]);
  }
  for (let byte = 255; byte >= 0; byte--) byCharacter.set(decoder.decode(Uint8Array.of(byte)), [byte]);
  return Buffer.from([...text].flatMap((character) => byCharacter.get(character) ?? assert.fail(character)));
}

async function load(file: Buffer) {
  const { status, body } = await service.upload('/table/places/upload/excel', file);
  assert.equal(status, 201, JSON.stringify(body));
  const rows = await service.rows('SELECT name, city FROM places');
  const warning = body.load.warnings.find(({ code }: { code: string }) => code === 'encoding');
  return { encoding: body.load.encoding, warning, text: rows.map(({ name, city }) => `${name},${city}`) };
}

const fileOf = (lines: string[], encoding: string): Buffer =>
  encode(['id,name,city', ...lines.map((line, n) => `${n},${line}`), ''].join('\n'), encoding);

const cities = {
  russian: [
    'Сергей Иванов,Москва',
    'Ольга Петрова,Новосибирск',
    'Анна Кузнецова,Екатеринбург',
    'Пётр Соколов,Казань',
  ],
  japanese: ['山田太郎,東京都', '鈴木花子,大阪市', 'カタカナ,ひらがな', '株式会社データ,横浜市'],
  chinese: [
    '张伟公司,北京市',
    '王芳有限责任,上海市',
    '订单已付款,广州',
    '送货数据,深圳市',
    '我们的产品,成都市',
    '中国人民,天津市',
  ],
  traditional: [
    '茶の魔手,臺北市',
    '王小明公司,高雄市',
    '訂單已付款,臺中市',
    '我們的產品,新竹市',
    '我喺香港,九龍',
  ],
  korean: ['김철수,서울특별시', '이영희,부산광역시', '주식회사 데이터,대전'],
};

for (const [lines, encoding] of [
  [cities.russian, 'windows-1251'],
  [cities.russian, 'koi8-u'],
  [cities.japanese, 'shift_jis'],
  [cities.japanese, 'euc-jp'],
  [cities.chinese, 'gb18030'],
  [cities.traditional, 'big5'],
  [cities.korean, 'euc-kr'],
] as const)
  test(`a file in ${encoding} is read in it, with a warning`, async () => {
    const loaded = await load(fileOf([...lines], encoding));
    assert.equal(loaded.encoding, encoding);
    assert.match(
      loaded.warning.detail,
      new RegExp(`read as ${encoding}; if letters are wrong, send \`encoding\``),
    );
    assert.deepEqual(loaded.text, lines);
  });

test('a file with a Latin alphabet stays Windows-1252, also with signs in a row', async () => {
  for (const lines of [['Jürgen Müller,Köln'], ['Zoë,“———”'], ['•••,½¼'], ['Łukasz,Łódź']]) {
    const encoding = lines[0]!.startsWith('Ł') ? 'windows-1250' : 'windows-1252';
    const loaded = await load(fileOf(lines, encoding));
    assert.equal(loaded.encoding, 'windows-1252');
    if (encoding === 'windows-1252') assert.deepEqual(loaded.text, lines);
    assert.ok(loaded.warning);
    await service.rows('DROP TABLE places');
  }
});

test('too few letters of another alphabet are read as Windows-1252, with the candidates as choices', async () => {
  const { encoding, warning } = await load(fileOf(['Ольга,Москва'], 'windows-1251'));
  assert.equal(encoding, 'windows-1252');
  assert.match(warning.detail, /look like another alphabet.*windows-1251/);
  assert.ok(
    warning.choices.some(
      (one: { parameters: { encoding: string } }) => one.parameters.encoding === 'windows-1251',
    ),
  );
});

test('a byte far below that the guessed encoding does not have refuses the file', async () => {
  const head = fileOf([...cities.japanese], 'shift_jis');
  const body = Buffer.concat([
    head,
    Buffer.from('9,x,y\n'.repeat(20_000)),
    Buffer.from([0x39, 0x2c, 0xff, 0x2c, 0x78, 0x0a]),
  ]);
  const answer = await service.upload('/table/places/upload/excel', body);
  assert.equal(answer.body.code, 'invalid-file');
});
