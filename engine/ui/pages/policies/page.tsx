/** Policies: expressions, guards and tokens, tried out before they stand in a configuration. */
import { hrefOf, place } from '#engine/ui/app/router.ts'
import { Expression } from './expression.tsx'
import { Guards } from './guards.tsx'
import { Token } from './token.tsx'

const PARTS = [
  { name: 'cel', title: 'Expressions', Body: Expression },
  { name: 'guards', title: 'Guards', Body: Guards },
  { name: 'token', title: 'Tokens', Body: Token }
] as const

export default function Policies() {
  const name = place.value.query.get('try')
  const part = PARTS.find((one) => one.name === name) ?? PARTS[0]
  const { Body } = part
  return (
    <>
      <nav class="tabs" aria-label="What is tried">
        {PARTS.map((one) => (
          <a
            key={one.name}
            class="tab"
            href={hrefOf(['policies'], { try: one === PARTS[0] ? null : one.name })}
            aria-current={one === part ? 'page' : undefined}
          >
            {one.title}
          </a>
        ))}
      </nav>
      <Body />
    </>
  )
}
