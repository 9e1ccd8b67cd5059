/** Answers that are fetched again and again, while somebody looks. */
import { signal } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type Answer, type ApiFailure, call, type Input, type OperationId } from './client.ts'

/** Somebody wants the page to stand still. */
export const isPaused = signal(false)

export interface Polled<T> {
  /** The last answer, also while the next is on its way or has failed; null: there was none. */
  readonly data: T | null
  /** Of the last call; null: it succeeded. */
  readonly failure: ApiFailure | null
  /** Asks at once. */
  readonly refresh: () => void
}

/** `everyMs` 0: once. A hidden page does not ask. */
export function usePoll<Id extends OperationId>(id: Id, input: Input<Id> = {}, everyMs = 0): Polled<Answer<Id>> {
  const [data, setData] = useState<Answer<Id> | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [round, setRound] = useState(0)
  const question = JSON.stringify(input)
  const questionBefore = useRef(question)
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    // What was there is the answer to another question.
    if (questionBefore.current !== question) setData(null)
    questionBefore.current = question
    const ask = async () => {
      try {
        setData(await call(id, JSON.parse(question), abort.signal))
        setFailure(null)
      } catch (problem) {
        if (abort.signal.aborted) return
        setFailure(problem as ApiFailure)
      }
      later()
    }
    const later = () => {
      if (everyMs === 0 || abort.signal.aborted) return
      timer = setTimeout(() => (document.hidden || isPaused.peek() ? later() : void ask()), everyMs)
    }
    void ask()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [id, question, everyMs, round])
  const refresh = useCallback(() => setRound((before) => before + 1), [])
  return { data, failure, refresh }
}
