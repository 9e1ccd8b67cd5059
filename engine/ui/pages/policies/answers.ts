/** Answers of the API to what somebody types, without a call for each letter. */
import { useEffect, useState } from 'preact/hooks'
import { type Answer, type ApiFailure, call, type Input } from '#engine/ui/api/client.ts'

/** People stop typing for about so long when they look. */
const STILL_MS = 200

export interface Tried<T> {
  /** To the last question that has an answer. */
  readonly answer: T | null
  readonly failure: ApiFailure | null
}

/** `body` null: there is nothing to ask. */
export function useTried<Id extends 'tryExpression' | 'tryGuard'>(
  id: Id,
  body: Input<Id>['body'] | null
): Tried<Answer<Id>> {
  const [answer, setAnswer] = useState<Answer<Id> | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const question = JSON.stringify(body)
  useEffect(() => {
    const abort = new AbortController()
    const ask = async () => {
      try {
        setAnswer(await call(id, { body: JSON.parse(question) }, abort.signal))
        setFailure(null)
      } catch (problem) {
        if (!abort.signal.aborted) setFailure(problem as ApiFailure)
      }
    }
    const timer = body === null ? undefined : setTimeout(() => void ask(), STILL_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [id, question])
  return { answer, failure }
}
