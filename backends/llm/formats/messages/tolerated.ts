/** Fields of the Messages API that a provider need not get. To add one, add a line. */
import { isObject } from '#backends/llm/formats/fields.ts'
import { HINT, noOp, RECORD, type ToleratedFields } from '#backends/llm/formats/tolerated.ts'

export const tolerated: ToleratedFields = {
  metadata: RECORD,
  'metadata.*': RECORD,
  'metadata.user_id': RECORD,
  service_tier: HINT,
  speed: HINT,
  temperature: HINT,
  top_p: HINT,
  top_k: HINT,
  thinking: HINT,
  'thinking.*': HINT,
  'output_config.effort': HINT,
  'output_config.task_budget': HINT,
  betas: RECORD,
  context_management: HINT,
  'tool_choice.disable_parallel_tool_use': HINT,
  parallel_tool_calls: HINT,
  'messages[@].*': RECORD,
  'messages[@].content[].*': RECORD,
  'messages[].content[].title': RECORD,
  'messages[].content[].citations': (value) => isObject(value) && value.enabled !== true,
  'tools[].eager_input_streaming': HINT,
  'tools[].defer_loading': HINT,
  'tools[].input_examples': HINT,
  'tools[].allowed_callers': noOp(['direct'])
}
