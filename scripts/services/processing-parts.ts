/** What a processor answers, in short. */
import type { ProcessingMode } from '#engine/proto/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode.ts'
import type {
  CommonResponse,
  ImmediateResponse,
  ProcessingRequest,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { answer, answerTo, type Processor } from '#policies/traffic/ext-proc/services.fixture.ts'

export type Kind = NonNullable<ProcessingRequest['request']>['$case']

/** Answers messages of `kind` with `more`, and all others with nothing to change. */
export const on =
  (kind: Kind, more: Partial<CommonResponse>, rest: Partial<ProcessingResponse> = {}): Processor =>
  (request) =>
    request.request?.$case === kind ? [answerTo(request, more, rest)] : [answerTo(request)]

/** Does something else with messages of `kind`. */
export const instead =
  (kind: Kind, act: Processor): Processor =>
  (request, call) =>
    request.request?.$case === kind ? act(request, call) : [answerTo(request)]

export const body = (text: string | Buffer): Partial<CommonResponse> => ({
  bodyMutation: { mutation: { $case: 'body', value: Buffer.from(text) } }
})
/**
 * Changes a body, and takes the length of the head away: Envoy fails where a service leaves it, and has the new one
 * not written.
 */
export const resized =
  (kind: 'requestBody' | 'responseBody', more: Partial<CommonResponse>): Processor =>
  (request) => {
    const head = kind === 'requestBody' ? 'requestHeaders' : 'responseHeaders'
    const removal = { headerMutation: { setHeaders: [], removeHeaders: ['content-length'] } }
    const { $case } = request.request!
    return [answerTo(request, $case === kind ? more : $case === head ? removal : {})]
  }

export const cleared: Partial<CommonResponse> = { bodyMutation: { mutation: { $case: 'clearBody', value: true } } }

export const immediately = (kind: Kind, code: number, more: Partial<ImmediateResponse> = {}): Processor =>
  instead(kind, () => [
    answer({
      $case: 'immediateResponse',
      value: {
        status: { code: code as 403 },
        headers: undefined,
        body: Buffer.alloc(0),
        grpcStatus: undefined,
        details: '',
        ...more
      }
    })
  ])

const MODE: ProcessingMode = {
  requestHeaderMode: 0,
  responseHeaderMode: 0,
  requestBodyMode: 0,
  responseBodyMode: 0,
  requestTrailerMode: 0,
  responseTrailerMode: 0
}
export const override = (mode: Partial<ProcessingMode>): Partial<ProcessingResponse> => ({
  modeOverride: { ...MODE, ...mode }
})

export const text = (value: string): Buffer[] => [Buffer.from(value)]
export const POST = { method: 'POST' }
