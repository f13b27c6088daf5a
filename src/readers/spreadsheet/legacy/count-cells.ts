/** Counts the cells with a value in the records of an .xls file (MS-XLS 2.3), to know how much memory reading them takes. */

const FORMULA = 0x06;
const MULTIPLE_RK = 0xbd;
const cellTypes = new Set([
  FORMULA,
  // RString, LabelSst
  0xd6,
  0xfd,
  // Number, Label, BoolErr, RK
  0x203,
  0x204,
  0x205,
  0x27e,
]);

const recordHeadBytes = 4;
/** The length of a MulRk record without its cells (row, first column, last column), and the length of each cell. */
const multipleHeadBytes = 6;
const multipleCellBytes = 6;

/** Counts the cells of all sheets. */
export function countCells(stream: Buffer): number {
  let cells = 0;
  for (let at = 0; at + recordHeadBytes <= stream.length; ) {
    const type = stream.readUInt16LE(at);
    const length = stream.readUInt16LE(at + 2);
    if (cellTypes.has(type)) cells++;
    else if (type === MULTIPLE_RK) {
      cells += Math.max(0, Math.floor((length - multipleHeadBytes) / multipleCellBytes));
    }
    at += recordHeadBytes + length;
  }
  return cells;
}
