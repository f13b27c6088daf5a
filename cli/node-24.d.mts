export const neededMajor: number;
