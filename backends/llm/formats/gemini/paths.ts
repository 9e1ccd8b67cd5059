/** Where generateContent has what a conversation says. */
import type { ClientPaths } from '#backends/llm/formats/paths.ts'

export const paths: ClientPaths = {
  fields: {
    temperature: 'generationConfig.temperature',
    topP: 'generationConfig.topP',
    topK: 'generationConfig.topK',
    stop: 'generationConfig.stopSequences',
    seed: 'generationConfig.seed',
    frequencyPenalty: 'generationConfig.frequencyPenalty',
    presencePenalty: 'generationConfig.presencePenalty',
    count: 'generationConfig.candidateCount',
    topLogprobs: 'generationConfig.logprobs',
    output: 'generationConfig.responseMimeType',
    thinking: 'generationConfig.thinkingConfig',
    user: 'labels',
    metadata: 'labels',
    parallel: 'toolConfig.functionCallingConfig',
    toolChoice: 'toolConfig.functionCallingConfig',
    serviceTier: 'serviceTier',
    turns: 'contents'
  },
  turns: 'contents',
  parts: 'parts',
  system: null
}
