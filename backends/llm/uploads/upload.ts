/** The body of a request, as a backend waits for it: whole, or, of a long form with files, as much as decides. */
import { refusalReply } from '#backends/llm/answer/local-replies.ts'
import type { AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { isForm } from '#backends/llm/request/multipart.ts'
import { isOperation, operationKind } from '#backends/llm/routes/operations.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { whenRequest } from '#engine/contract/body.ts'
import { type RequestLook, whenRequestLook } from '#engine/contract/body-prefix.ts'
import { BODY_LENGTH, BODY_NONE, type Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { FORM_HELD_BYTES_MAX, type FormNeeds } from './form-needs.ts'
import { FormScanner } from './form-scanner.ts'
import { PassingForm, passingForm, setPassingForm } from './passing-form.ts'

/** Transports hand over no longer pieces of a body. */
const PIECE_BYTES_MAX = 1024 * 1024

type Context = Pick<BackendContext, 'maxBufferBytes' | 'bodies' | 'fail' | 'reply'>

/**
 * As whenRequest. A form that is longer than may be kept whole is not in ex.requestBytes: passingForm(ex) has what
 * is known of it. STOP, and an answer: it was refused here.
 */
export function whenUpload(ex: Exchange, type: AiRouteType, context: Context, then: (verdict: Verdict) => void): void {
  // Who has chosen the backend has waited for it.
  if (passingForm(ex) !== null || isPiece(ex, type, context)) {
    then(CONTINUE)
    return
  }
  const needs = needsOf(ex, type, context)
  if (needs === null) whenRequest(ex, context.maxBufferBytes, then)
  else gatherForm(ex, needs, clientFor(ex, type), context, then)
}

function clientFor(ex: Exchange, type: AiRouteType): ClientFormat {
  return isOperation(type) ? operationKind(type).client(ex) : 'completions'
}

const mayBeLong = (ex: Exchange, { maxBufferBytes }: Context): boolean =>
  ex.requestBytes === null &&
  ex.requestBody !== BODY_NONE &&
  ex.upgrade === null &&
  (ex.requestBody !== BODY_LENGTH || ex.requestLength > maxBufferBytes)

/** Nothing of it is read: it goes on as it comes. */
function isPiece(ex: Exchange, type: AiRouteType, context: Context): boolean {
  return isOperation(type) && operationKind(type).isPiece?.(ex) === true && mayBeLong(ex, context)
}

/** Null: the body is no form that could go on ahead of its end. */
function needsOf(ex: Exchange, type: AiRouteType, context: Context): FormNeeds | null {
  if (!isOperation(type) || !mayBeLong(ex, context)) return null
  if (!isForm(ex.request.get('content-type') ?? '')) return null
  return operationKind(type).formNeeds?.(ex) ?? null
}

function gatherForm(
  ex: Exchange,
  needs: FormNeeds,
  client: ClientFormat,
  context: Context,
  then: (verdict: Verdict) => void
): void {
  const refuse = (why: FormatError): void => refuseForm(ex, client, why, context)
  let look: FormLook
  try {
    look = lookAt(ex, needs, context)
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    refuse(error)
    return
  }
  whenRequestLook(ex, look, (bytes) => {
    if (ex.response !== null || ex.responseDone) return
    const { problem, scanner } = look
    if (bytes === null) then(STOP)
    else if (ex.requestBytes !== null) then(CONTINUE)
    else if (problem !== null) refuse(problem)
    else {
      const { boundary, parts } = scanner
      const bytesLength = ex.requestBody === BODY_LENGTH ? ex.requestLength : Math.max(look.bytesMax, bytes.length)
      const by = { needs, bytesLength, bodies: context.bodies, refuse: (_: Exchange, why: FormatError) => refuse(why) }
      setPassingForm(ex, new PassingForm(ex, { bytes, boundary, parts: [...parts] }, scanner, by))
      then(CONTINUE)
    }
  })
}

/** Not at an answer that has begun: that is the provider's word. */
function refuseForm(ex: Exchange, client: ClientFormat, why: FormatError, { bodies, fail }: Context): void {
  const { status, field, message } = why
  const text = field === '' ? message : `${field}: ${message}`
  const reply = refusalReply(ex, client, { status, message: text, code: null, param: field || null })
  if (!bodies.reply(ex, reply)) fail(ex, 'BAD_REQUEST')
}

interface FormLook extends RequestLook {
  readonly scanner: FormScanner
  /** Why it may not go on; null: it may. */
  problem: FormatError | null
}

/** Throws FormatError. */
function lookAt(ex: Exchange, needs: FormNeeds, { maxBufferBytes }: Context): FormLook {
  const bytesMax = Math.max(FORM_HELD_BYTES_MAX, maxBufferBytes)
  const scanner = new FormScanner(ex.request.get('content-type')!)
  const texts = new Map<string, string>()
  scanner.watch = {
    begins: ({ name, filename }) => filename === null && needs.ahead.includes(name),
    value: ({ name }, text) => texts.set(name, text)
  }
  let length = 0
  const push = (chunk: Buffer, start: number, end: number): boolean => {
    length += end - start
    scanner.push(chunk, start, end)
    // One that may be kept whole is: another provider can be asked when the first one fails.
    const isLong = ex.requestLength > maxBufferBytes || length > maxBufferBytes
    if (!isLong) return false
    if (scanner.open?.filename != null && needs.mayPass(texts)) return true
    if (length < bytesMax) return false
    needs.overlong(texts)
    return true
  }
  const look: FormLook = {
    // The piece that is too much has come already.
    bytesMax: bytesMax + PIECE_BYTES_MAX,
    scanner,
    problem: null,
    look(chunk, start, end) {
      try {
        return push(chunk, start, end)
      } catch (error) {
        if (!(error instanceof FormatError)) throw error
        look.problem = error
        return true
      }
    }
  }
  return look
}
