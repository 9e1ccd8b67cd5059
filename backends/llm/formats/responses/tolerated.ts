/** Fields of the Responses API that a provider need not get. To add one, add a line. */
import { isObject } from '#backends/llm/formats/fields.ts'
import { HINT, noOp, OPENAI, RECORD, type ToleratedFields } from '#backends/llm/formats/tolerated.ts'

export const tolerated: ToleratedFields = {
  ...OPENAI,
  background: noOp(false),
  truncation: HINT,
  include: HINT,
  client_metadata: RECORD,
  max_tool_calls: HINT,
  reasoning: HINT,
  'reasoning.*': HINT,
  'text.verbosity': HINT,
  'text.format.strict': HINT,
  'input[].id': RECORD,
  'input[].phase': RECORD,
  'input[@].*': RECORD,
  'input[@].content[].*': RECORD,
  'input[].content[].detail': HINT,
  'input[].content[].filename': RECORD,
  // Only what a provider has kept of pages, and with no word of how: a model does without.
  'tools[]': (tool) => isObject(tool) && tool.type === 'web_search' && tool.external_web_access === false,
  'tools[].defer_loading': HINT
}
