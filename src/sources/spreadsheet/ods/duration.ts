/** Times of OpenDocument: durations as XML Schema part 2 (3.2.6) writes them, `PT36H15M00.5S`. */

const pattern = /^P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:[.,](\d{1,12}))?S)?)?$/;
const dayMicroseconds = 86_400_000_000;

export interface Duration {
  days: number;
  /** 0 to 86,399,999,999. */
  microseconds: number;
}

/** @returns undefined where the text is none, is negative or counts months, whose length nobody knows */
export function parseDuration(text: string): Duration | undefined {
  const found = text.length > 64 ? null : pattern.exec(text);
  if (found === null || text.endsWith('P') || text.endsWith('T')) return undefined;
  const [, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = found;
  const wholeSeconds = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  const microseconds = wholeSeconds * 1_000_000 + Math.round(Number(`0.${fraction || '0'}`) * 1_000_000);
  const moreDays = Math.floor(microseconds / dayMicroseconds);
  return { days: Number(days) + moreDays, microseconds: microseconds - moreDays * dayMicroseconds };
}
