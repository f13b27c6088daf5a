/** Recognizes a row of totals by the word in its first cell: `Total`, `Grand total:`, `Summe`, `合計`. */

/** The words that spreadsheet programs write into rows of totals and pivot tables, in lower case. */
const words = (
  'total|totals|grand total|sub total|sub-total|subtotal|overall total|sum|sums|summe|summen|gesamt|gesamtsumme|' +
  'gesamtergebnis|gesamtbetrag|insgesamt|zwischensumme|ergebnis|totaal|eindtotaal|subtotaal|totale|totale complessivo|' +
  'somma|somme|total général|sous-total|suma|total general|soma|total geral|totalt|summa|i alt|razem|suma końcowa|celkem|' +
  'spolu|összesen|yhteensä|toplam|genel toplam|итого|всего|общий итог|разом|σύνολο|合計|総計|小計|合计|总计|小计|합계|총계'
).split('|');

const known = new Set(words);
const maxBytes = 48;

/** For each byte: 1 if a word begins with it, as a small or capital letter. Most texts are excluded by this alone. */
const beginnings = new Uint8Array(256);
for (const word of words) {
  beginnings[Buffer.from(word)[0]!] = 1;
  beginnings[Buffer.from(word.toUpperCase())[0]!] = 1;
}

/** Returns whether the text is one of the words, alone or before a colon, a bracket or a dash (`Total (EUR)`). */
export function isTotalWord(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > maxBytes || end - start < 3 || beginnings[bytes[start]!] === 0) return false;
  const text = bytes.toString('utf8', start, end).toLowerCase();
  return known.has(text.replace(/\s*(?:[:=([–—].*| - .*)?$/su, ''));
}
