/**
 * Reads the styles of an OpenDocument spreadsheet (OpenDocument 1.3 part 3, chapter 16) that change the meaning of values:
 * numbers padded with zeros, dates with a time of day, durations, and hidden sheets.
 */

import type { XmlTokens } from '../package/xml-tokens.ts';
import * as formats from '../values/number-formats.ts';
import { type Styles, stylesOf } from '../values/styles.ts';

/**
 * The meaning of cell styles, by the index of the style. Style 0 is for cells without a style. It extends `Styles`, the meaning of
 * numbers, because some programs store dates as numbers.
 */
export interface OdsStyles extends Styles {
  indices: Map<string, number>;
  /** The dates are shown with a time of day. */
  hasTime: boolean[];
  /** The times may exceed a day. */
  isElapsed: boolean[];
}

interface DataStyle {
  isDate: boolean;
  isTime: boolean;
  /** An equivalent number format of Excel; empty if the style cannot pad with zeros. */
  code: string;
  /** The style is a percentage or a currency. Its values are plain numbers, whatever else it contains. */
  isFixed: boolean;
  hasTime: boolean;
  isElapsed: boolean;
  /**
   * The sections of the format that are checked before this style. A value uses the first section whose condition it meets, or else
   * this style (16.3).
   */
  maps: { condition: string; style: string }[];
}

const plainStyle: DataStyle = {
  isDate: false,
  isTime: false,
  code: '',
  isFixed: false,
  hasTime: false,
  isElapsed: false,
  maps: [],
};

const names = Object.fromEntries(
  [
    ...['style', 'table-properties', 'name', 'family', 'display', 'data-style-name', 'parent-style-name'],
    ...['number-style', 'date-style', 'time-style', 'truncate-on-overflow', 'hours', 'minutes', 'seconds'],
    ...['number', 'min-integer-digits', 'decimal-places', 'min-decimal-places', 'grouping', 'text'],
    ...['embedded-text', 'position', 'text-style', 'percentage-style', 'currency-style', 'boolean-style'],
    ...['scientific-number', 'fraction', 'text-content', 'map', 'condition', 'apply-style-name'],
  ].map((name) => [name, Buffer.from(name)]),
) as Record<string, Buffer>;

const maxDigits = 40;

const fixedStyles = [names['percentage-style']!, names['currency-style']!, names['boolean-style']!];
const dataStyles = [
  names['number-style']!,
  names['date-style']!,
  names['time-style']!,
  names['text-style']!,
  ...fixedStyles,
];

/** The maximum number of sections of a format. Further sections are ignored. A format of a spreadsheet has at most four. */
const maxMaps = 8;

/** Reads the styles from the tokens of both parts that have styles. Other elements are ignored. */
export class OdsStylesReader {
  readonly hiddenTables = new Set<string>();
  readonly #cellStyles = new Map<string, { dataStyle: string; parent: string }>();
  readonly #dataStyles = new Map<string, DataStyle>();
  #tableStyle = '';
  #data: DataStyle | undefined;
  #dataName = '';
  /** Whether the current text is a literal of a number format. `#position` is its place among the digits; -1: at the end. */
  #isInText = false;
  #position = -1;
  #text = '';

  open(xml: XmlTokens): void {
    if (xml.isNamed(names.style!)) {
      this.#openStyle(xml);
    } else if (xml.isNamed(names['table-properties']!)) {
      if (attributeText(xml, names.display!) === 'false') this.hiddenTables.add(this.#tableStyle);
    } else if (xml.isNamed(names['number-style']!)) {
      this.#openData(xml, plainStyle);
    } else if (xml.isNamed(names['text-style']!)) {
      this.#openData(xml, { ...plainStyle, isFixed: true, code: '@' });
    } else if (fixedStyles.some((name) => xml.isNamed(name))) {
      this.#openData(xml, { ...plainStyle, isFixed: true, code: 'General' });
    } else if (xml.isNamed(names['date-style']!)) {
      this.#openData(xml, { ...plainStyle, isDate: true });
    } else if (xml.isNamed(names['time-style']!)) {
      const isElapsed = attributeText(xml, names['truncate-on-overflow']!) === 'false';
      this.#openData(xml, { ...plainStyle, isTime: true, isElapsed });
    } else if (this.#data !== undefined) {
      this.#openInData(xml, this.#data);
    }
  }

  text(bytes: Buffer, start: number, end: number): void {
    if (this.#isInText && this.#text.length < maxDigits) this.#text += bytes.toString('utf8', start, end);
  }

  close(xml: XmlTokens): void {
    const data = this.#data;
    if (data === undefined) return;
    if (this.#isInText) {
      this.#isInText = false;
      this.#addLiteral(data);
    } else if (dataStyles.some((name) => xml.isNamed(name))) {
      this.#dataStyles.set(this.#dataName, data);
      this.#data = undefined;
    }
  }

  finish(): OdsStyles {
    const indices = new Map<string, number>();
    const all = [formats.builtInFormat(0)];
    const hasTime = [false];
    const isElapsed = [false];
    for (const name of this.#cellStyles.keys()) {
      const sections = this.#sectionsOf(this.#dataStyleOf(name));
      const { style } =
        sections.find((section) => section.style.isDate || section.style.isTime) ?? sections[0];
      indices.set(name, all.push(formatOf(sections)) - 1);
      hasTime.push(style.hasTime);
      isElapsed.push(style.isElapsed);
    }
    return { ...stylesOf(all), indices, hasTime, isElapsed };
  }

  #openStyle(xml: XmlTokens): void {
    const name = attributeText(xml, names.name!);
    const family = attributeText(xml, names.family!);
    this.#tableStyle = family === 'table' ? name : '';
    if (family !== 'table-cell') return;
    this.#cellStyles.set(name, {
      dataStyle: attributeText(xml, names['data-style-name']!),
      parent: attributeText(xml, names['parent-style-name']!),
    });
  }

  #openData(xml: XmlTokens, data: DataStyle): void {
    if (xml.isSelfClosing) return;
    this.#dataName = attributeText(xml, names.name!);
    this.#data = { ...data, maps: [] };
  }

  #openInData(xml: XmlTokens, data: DataStyle): void {
    if (xml.isNamed(names.hours!) || xml.isNamed(names.minutes!) || xml.isNamed(names.seconds!)) {
      data.hasTime = true;
    } else if (xml.isNamed(names.map!)) {
      const condition = attributeText(xml, names.condition!);
      const style = attributeText(xml, names['apply-style-name']!);
      if (data.maps.length < maxMaps) data.maps.push({ condition, style });
    } else if (data.isFixed) {
      return;
    } else if (xml.isNamed(names.number!)) {
      data.code += digitsCode(xml);
    } else if (xml.isNamed(names['scientific-number']!)) {
      data.code += '0.0E+0';
    } else if (xml.isNamed(names.fraction!)) {
      data.code += '# ?/?';
    } else if (xml.isNamed(names['text-content']!)) {
      data.code += '@';
    } else if (!xml.isSelfClosing && xml.isNamed(names.text!)) {
      this.#beginText(-1);
    } else if (!xml.isSelfClosing && xml.isNamed(names['embedded-text']!)) {
      this.#beginText(Number(attributeText(xml, names.position!) || -1));
    }
  }

  #beginText(position: number): void {
    this.#isInText = true;
    this.#position = position;
    this.#text = '';
  }

  /** Adds a literal to the format. `position` counts the digits to the right of the literal. */
  #addLiteral(data: DataStyle): void {
    const literal = `"${this.#text.replaceAll('"', '')}"`;
    let at = data.code.length;
    for (let digits = this.#position; digits > 0 && at > 0; ) if (data.code[--at] === '0') digits--;
    data.code = data.code.slice(0, at) + literal + data.code.slice(at);
  }

  /** Returns the sections of the style in order. The style itself is the last section. */
  #sectionsOf(data: DataStyle): [DataSection, ...DataSection[]] {
    const before = data.maps.flatMap(({ condition, style }): DataSection[] => {
      const section = this.#dataStyles.get(style);
      const code = conditionCode(condition);
      return section === undefined || code === '' ? [] : [{ condition: code, style: section }];
    });
    const last: DataSection = { condition: '', style: data };
    const [first, ...others] = before;
    return first === undefined ? [last] : [first, ...others, last];
  }

  /** Returns the format of a style. A style without a format has the format of its parent. */
  #dataStyleOf(name: string): DataStyle {
    let at: string | undefined = name;
    for (let depth = 0; at !== undefined && depth < maxParents; depth++) {
      const style = this.#cellStyles.get(at);
      if (style === undefined) return plainStyle;
      if (style.dataStyle !== '') return this.#dataStyles.get(style.dataStyle) ?? plainStyle;
      at = style.parent;
    }
    return plainStyle;
  }
}

interface DataSection {
  condition: string;
  style: DataStyle;
}

/** Writes the sections as a number format of Excel and parses it, so that the rules for sections are in one place. */
function formatOf(sections: [DataSection, ...DataSection[]]): formats.NumberFormat {
  const conditions = sections.map(({ condition }) => condition).join(' ');
  const isPlain = impliedConditions.includes(conditions);
  const codes = sections.map(({ condition, style }) => {
    return isPlain || condition === '' ? codeOf(style) : `[${condition}]${codeOf(style)}`;
  });
  return formats.parseFormatCode(codes.join(';'));
}

/** Returns a format code of Excel with the same meaning. */
function codeOf({ isDate, isTime, hasTime, isElapsed, code }: DataStyle): string {
  if (isDate) return hasTime ? 'yyyy-mm-dd hh:mm' : 'yyyy-mm-dd';
  if (isTime) return isElapsed ? '[h]:mm' : 'h:mm';
  return code;
}

/**
 * The conditions that sections of a number format have if none are written: one, two (`positive;negative`) or three sections.
 */
const impliedConditions = ['', '>=0 ', '>0 <0 ', '>0 <0 =0 '];

/**
 * Returns a condition in the notation of number formats: `value()>=0` becomes `>=0`, and `value()!=5` becomes `<>5`. It is empty if
 * the text is not a condition for numbers.
 */
function conditionCode(text: string): string {
  const found = /^\s*value\(\)\s*(<=|>=|!=|=|<|>)\s*(-?\d+(?:\.\d*)?)\s*$/.exec(text);
  return found === null ? '' : `${found[1] === '!=' ? '<>' : found[1]}${found[2]}`;
}

/** How many ancestors of a style are searched, because parents may form a circle. After that, the style has no format. */
const maxParents = 16;

/** Returns the format of the digits: `0000` for a whole number that is padded to four digits. */
function digitsCode(xml: XmlTokens): string {
  const count = (name: string): number => Number(attributeText(xml, names[name]!) || 0);
  const isOther = attributeText(xml, names.grouping!) === 'true' || count('min-decimal-places') > 0;
  if (isOther || count('decimal-places') > 0) return '0.0';
  const digits = count('min-integer-digits');
  return digits > 0 && digits <= maxDigits ? '0'.repeat(digits) : '#';
}

/** Returns the value of the attribute with this local name, or `''`. */
export function attributeText(xml: XmlTokens, name: Buffer): string {
  const at = xml.attribute(name);
  return at < 0 ? '' : xml.bytes.toString('utf8', xml.attributes[at + 2]!, xml.attributes[at + 3]!);
}
