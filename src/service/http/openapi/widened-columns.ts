/** The schema of the columns that an upload has widened, in its answer and in its event. */
import Type from 'typebox';

export const WidenedColumns = Type.Array(
  Type.Object({
    column: Type.String(),
    from: Type.String({ description: 'The type before the load.' }),
    to: Type.String({ description: 'The type that the column has now.' }),
  }),
  { description: 'The columns that got wider types (`misfits`). Absent if there are none.' },
);
