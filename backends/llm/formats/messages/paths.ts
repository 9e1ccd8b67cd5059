/** Where the Messages API has what a conversation says. */
import { type ClientPaths, OPENAI_FIELDS } from '#backends/llm/formats/paths.ts'

export const paths: ClientPaths = {
  fields: {
    ...OPENAI_FIELDS,
    stop: 'stop_sequences',
    user: 'metadata.user_id',
    parallel: 'tool_choice.disable_parallel_tool_use',
    output: 'output_config.format',
    thinking: 'thinking',
    turns: 'messages'
  },
  turns: 'messages',
  parts: 'content',
  partFields: { name: 'title', isError: 'is_error' },
  system: 'system'
}
