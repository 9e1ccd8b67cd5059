/** Where expressions of a sample stand (sample.ts): a module that loads in no time, for the command line. */

export const SAMPLE_PLACES = ['request', 'mcp', 'response', 'log'] as const
export type SamplePlace = (typeof SAMPLE_PLACES)[number]
