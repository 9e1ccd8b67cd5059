/** Fields of chat completions that a provider need not get. To add one, add a line. */
import { HINT, noOp, OPENAI, RECORD, type ToleratedFields } from '#backends/llm/formats/tolerated.ts'

export const tolerated: ToleratedFields = {
  ...OPENAI,
  seed: HINT,
  top_k: HINT,
  n: noOp(1),
  frequency_penalty: noOp(0),
  presence_penalty: noOp(0),
  modalities: noOp(['text']),
  logprobs: noOp(false),
  top_logprobs: noOp(0),
  prediction: HINT,
  reasoning_effort: HINT,
  reasoning: HINT,
  verbosity: HINT,
  drop_params: RECORD,
  'response_format.strict': HINT,
  'response_format.json_schema.strict': HINT,
  'messages[].name': RECORD,
  'messages[].provider_specific_fields': RECORD,
  'messages[@].*': RECORD,
  // A spoken turn has no text: without it the model would not know that it has answered.
  'messages[@].audio': () => false,
  'messages[@].content[].*': RECORD,
  'messages[@].tool_calls[].*': RECORD,
  'messages[@].tool_calls[].function.*': RECORD,
  'messages[].content[].image_url.detail': HINT,
  'messages[].content[].file.filename': RECORD
}
