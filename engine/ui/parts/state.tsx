/** What stands in place of an answer: that it is on its way, that it failed, that there is nothing. */
import type { ComponentChildren } from 'preact'
import type { Polled } from '#engine/ui/api/poll.ts'

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      {what} …
    </p>
  )
}

export function Failure({ message }: { readonly message: string }) {
  return (
    <p class="failure" role="alert">
      {message}
    </p>
  )
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** Shows the answer, with the failure of the last call above it: what was known stays in sight. */
export function Answered<T>({
  of: { data, failure },
  what,
  children
}: {
  readonly of: Polled<T>
  readonly what: string
  readonly children: (data: NonNullable<T>) => ComponentChildren
}) {
  return (
    <>
      {failure !== null && <Failure message={failure.message} />}
      {data === null || data === undefined ? failure === null && <Loading what={what} /> : children(data)}
    </>
  )
}
