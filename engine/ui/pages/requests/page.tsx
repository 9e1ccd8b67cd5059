/** Requests: sends one through the gateway and tells its whole story; follows those of others. */
import { usePoll } from '#engine/ui/api/poll.ts'
import { Follow } from './follow.tsx'
import { Try } from './try.tsx'

export default function Requests() {
  const { data } = usePoll('getConfiguration')
  const [bind] = (data?.snapshot as { readonly binds?: readonly { readonly port: number }[] } | undefined)?.binds ?? []
  return (
    <>
      <Try example={bind === undefined ? 'http://localhost:8080/' : `http://localhost:${bind.port}/`} />
      <Follow />
    </>
  )
}
