/** The units of numbers, for a row of units between a header and its values. */

import { cellValue, WORDS } from './cell-class.ts';

/** Single letters have only the case in which they are units, because small letters such as `d` mark missing values. */
const units = (
  '%|‰|ppm|ppb|no.|nr|number|count|pcs|pieces|stk.|stück|persons|t|kt|mt|kg|g|mg|µg|μg|ug|ng|lb|lbs|oz|tons|tonnes|1000 t|' +
  'km|m|cm|mm|µm|μm|um|nm|mi|ft|inch|inches|yd|ha|acres|1000 ha|m2|m²|km2|km²|sqm|sqft|ft2|m3|m³|cm3|cm³|l|hl|ml|µl|μl|cm-1|1/cm|m-1|' +
  's|sec|ms|µs|μs|us|ns|min|h|hr|hrs|hour|hours|seconds|minutes|days|weeks|months|years|°C|°F|K|C|degC|deg C|deg|°|degrees|rad|' +
  'Hz|kHz|MHz|GHz|rpm|m/s|m/s2|m/s²|m/s^2|km/h|kph|mph|knots|l/s|m3/s|m³/s|l/min|g/l|mg/l|µg/l|μg/l|g/cm3|g/cm³|kg/m3|kg/m³|' +
  'µg/m3|μg/m3|µg/m³|μg/m³|kg/ha|t/ha|N|kN|Nm|Pa|hPa|kPa|MPa|GPa|bar|mbar|psi|atm|mmHg|J|kJ|MJ|cal|kcal|Wh|kWh|MWh|GWh|TWh|' +
  'W|kW|MW|W/m2|W/m²|V|mV|kV|A|mA|Ah|mAh|Ω|ohm|mol|mmol|mol/l|mmol/l|mm/h|mm/d|dB|bits|bytes|EUR|€|USD|$|US$|GBP|£|CHF|JPY|¥|SEK|' +
  'NOK|DKK|PLN|INR|€|TEUR|KEUR|T€|k€|m€|£k|£m|£bn|$k|$m|$bn|Mio. EUR|Mio. €|EUR million|thousand|thousands|million|millions|' +
  "thousand tonnes|per cent|1000|1,000|1.000|1'000"
).split('|');
const known = new Set(units.flatMap(spellings).map(valueOfText));
const labels = new Set('Unit|Units|Einheit|Einheiten|Unité|Unidad'.split('|').map(valueOfText));

function spellings(unit: string): string[] {
  const inCases = unit.length === 1 ? [unit] : [unit, unit.toLowerCase(), unit.toUpperCase()];
  return inCases.flatMap((one) => [one, `(${one})`, `[${one}]`, `in ${one}`, `(in ${one})`]);
}

function valueOfText(text: string): number {
  const bytes = Buffer.from(text);
  return cellValue(WORDS, bytes, 0, bytes.length);
}

/** @param value the value of a text in an outline (`cellValue`) */
export function isUnit(value: number): boolean {
  return known.has(value);
}

/** Returns whether the text says that units are beside it. */
export function isLabelOfUnits(value: number): boolean {
  return labels.has(value);
}
