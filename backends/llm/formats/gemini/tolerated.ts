/** Fields of generateContent that a provider need not get. To add one, add a line. */
import { everyOf, HINT, noOp, RECORD, type ToleratedFields } from '#backends/llm/formats/tolerated.ts'

export const tolerated: ToleratedFields = {
  labels: RECORD,
  serviceTier: HINT,
  safetySettings: everyOf('threshold', 'OFF', 'BLOCK_NONE', 'HARM_BLOCK_THRESHOLD_UNSPECIFIED'),
  'generationConfig.seed': HINT,
  'generationConfig.topK': HINT,
  'generationConfig.topP': HINT,
  'generationConfig.temperature': HINT,
  'generationConfig.candidateCount': noOp(1),
  'generationConfig.frequencyPenalty': noOp(0),
  'generationConfig.presencePenalty': noOp(0),
  'generationConfig.logprobs': noOp(0),
  'generationConfig.responseLogprobs': noOp(false),
  'generationConfig.responseModalities': noOp(['text'], ['modality_unspecified']),
  'generationConfig.mediaResolution': HINT,
  'generationConfig.thinkingConfig': HINT,
  'generationConfig.thinkingConfig.*': HINT,
  'generationConfig.responseMimeType': noOp('text/plain'),
  'toolConfig.functionCallingConfig': HINT,
  'toolConfig.functionCallingConfig.mode': noOp('validated'),
  'contents[@].parts[].*': RECORD,
  'contents[@].*': RECORD,
  'contents[].parts[].videoMetadata': HINT,
  'contents[].parts[].mediaResolution': HINT,
  'contents[].parts[].inlineData.displayName': RECORD,
  'contents[].parts[].functionResponse.scheduling': HINT,
  'contents[].parts[].functionResponse.willContinue': noOp(false),
  'tools[].functionDeclarations[].response': HINT,
  'tools[].functionDeclarations[].responseJsonSchema': HINT,
  'tools[].functionDeclarations[].behavior': noOp('blocking', 'unspecified')
}
