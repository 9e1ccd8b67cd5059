/** What the test's models say, in every format. */

/** Whatever JSON came; tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: a shape for each format would be the code that is tested
export type Body = any

export const PIECES = ['Hello, ', 'world'] as const
export const TOOL_ARGUMENTS = '{"city":"Paris"}'
