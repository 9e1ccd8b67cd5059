/**
 * What PostgreSQL does with operations (operations.ts): one call of a function for a batch, which is a transaction. A
 * lock of that transaction lets one batch in at a time, as Redis does with scripts: no order of rows to keep, no
 * deadlocks, and nothing held longer than a statement takes. `SCHEMA` stands for the name of the schema.
 */
import { KEPT_MS } from '#engine/accounts/server/operations.ts'
import { OBJECT_KEPT_MS, OBJECTS_MAX } from '#engine/contract/object-owners.ts'

/** 1: what there is. A program refuses tables of a version that it does not know. */
export const SCHEMA_VERSION = 1

export const TABLES = `
create schema if not exists SCHEMA;
create table if not exists SCHEMA.version (version integer primary key, functions text not null default '');
create table if not exists SCHEMA.budget (
  id text primary key, starts bigint not null, ends bigint not null, used numeric(30) not null default 0,
  spent numeric(30) not null default 0, short text not null default '', forgotten bigint);
create table if not exists SCHEMA.part (
  id text not null references SCHEMA.budget on delete cascade, starts bigint not null, amount numeric(30) not null,
  primary key (id, starts));
create table if not exists SCHEMA.bucket (
  id text primary key, level double precision not null, at bigint not null, forgotten bigint not null);
create table if not exists SCHEMA.writer (
  name text primary key, last bigint not null default 0, heard bigint not null, is_alive boolean not null);
create table if not exists SCHEMA.call (
  writer text not null references SCHEMA.writer on delete cascade, number bigint not null, is_dead boolean not null,
  parts jsonb not null, primary key (writer, number));
create table if not exists SCHEMA.under_way (
  writer text not null references SCHEMA.writer on delete cascade, account text not null, count integer not null,
  primary key (writer, account));
create index if not exists under_way_account on SCHEMA.under_way (account);
create table if not exists SCHEMA.key (name text primary key, value text not null);
create table if not exists SCHEMA.changes (count bigint not null);
insert into SCHEMA.changes select 0 where not exists (select from SCHEMA.changes);
insert into SCHEMA.version select ${SCHEMA_VERSION} where not exists (select from SCHEMA.version);
`

const BUDGETS = `
create or replace function SCHEMA.clock() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

create or replace function SCHEMA.begin_period(p_id text, p_starts bigint, p_ends bigint) returns void
language sql as $$
  insert into SCHEMA.budget (id, starts, ends, forgotten)
  values (p_id, p_starts, p_ends, case when p_ends < 8640000000000000 then p_ends + ${KEPT_MS} end)
  on conflict (id) do update set starts = excluded.starts, ends = excluded.ends, forgotten = excluded.forgotten,
    used = 0, spent = 0, short = '' $$;

create or replace function SCHEMA.add(p_id text, p_used numeric, p_spent numeric, p_unit bigint, p_now bigint)
returns void language plpgsql as $$
begin
  update SCHEMA.budget set used = used + p_used, spent = spent + p_spent where id = p_id;
  if p_unit > 0 and p_spent <> 0 then
    insert into SCHEMA.part values (p_id, p_now / p_unit * p_unit, p_spent)
    on conflict (id, starts) do update set amount = SCHEMA.part.amount + excluded.amount;
  end if;
end $$;

-- The period in force, which is the begun one until its end; false: that of the part is another one.
create or replace function SCHEMA.enter(p_part jsonb, p_now bigint) returns boolean language plpgsql as $$
declare
  v_id text := p_part->>0; v_start bigint := p_part->>2; v_end bigint := p_part->>3;
  v_rolling bigint := p_part->>4; v_unit bigint := p_part->>5; v_old numeric; b record;
begin
  select * into b from SCHEMA.budget where id = v_id;
  if v_rolling > 0 then
    if b.id is null then perform SCHEMA.begin_period(v_id, 0, 8640000000000000); end if;
    with old as (
      delete from SCHEMA.part where id = v_id and starts + v_unit + v_rolling <= p_now returning amount)
    select coalesce(sum(amount), 0) into v_old from old;
    update SCHEMA.budget set used = used - v_old, spent = spent - v_old, forgotten = p_now + v_rolling + ${KEPT_MS}
    where id = v_id;
  elsif b.id is null or p_now >= b.ends then
    if p_now < v_start or p_now >= v_end then return false; end if;
    perform SCHEMA.begin_period(v_id, v_start, v_end);
  end if;
  return true;
end $$;

-- The period in which something was set aside; false: it is over and its money forgotten.
create or replace function SCHEMA.re_enter(p_id text, p_start bigint, p_end bigint, p_now bigint) returns boolean
language plpgsql as $$
declare b record;
begin
  select * into b from SCHEMA.budget where id = p_id;
  if b.id is null or b.starts < p_start then
    if p_now >= p_end then return false; end if;
    perform SCHEMA.begin_period(p_id, p_start, p_end);
    return true;
  end if;
  return b.starts = p_start;
end $$;

create or replace function SCHEMA.add_all(p_parts jsonb, p_amount numeric, p_now bigint) returns void
language plpgsql as $$
declare p jsonb; v_rolls boolean;
begin
  for p in select * from jsonb_array_elements(p_parts) loop
    v_rolls := (p->>4)::bigint > 0;
    if SCHEMA.re_enter(p->>0, case when v_rolls then 0 else (p->>2)::bigint end,
        case when v_rolls then 8640000000000000 else (p->>3)::bigint end, p_now) then
      perform SCHEMA.add(p->>0, p_amount, p_amount, (p->>5)::bigint, p_now);
    end if;
  end loop;
end $$;
`

const LIMITS = `
-- A bucket as it is now.
create or replace function SCHEMA.fill(p_bucket jsonb, p_now bigint, out level double precision, out at bigint)
language plpgsql as $$
declare v_periods bigint;
begin
  select b.level, b.at into level, at from SCHEMA.bucket b where b.id = p_bucket->>0;
  level := coalesce(level, (p_bucket->>1)::double precision);
  at := coalesce(at, p_now);
  v_periods := floor((p_now - at)::numeric / (p_bucket->>3)::bigint);
  if v_periods > 0 then
    level := least((p_bucket->>1)::double precision, level + v_periods * (p_bucket->>2)::double precision);
    at := at + v_periods * (p_bucket->>3)::bigint;
  end if;
end $$;

create or replace function SCHEMA.take(p_bucket jsonb, p_floor double precision, p_now bigint)
returns double precision language plpgsql as $$
declare l record; v_level double precision;
begin
  l := SCHEMA.fill(p_bucket, p_now);
  v_level := greatest(l.level - (p_bucket->>4)::double precision, p_floor);
  insert into SCHEMA.bucket values (p_bucket->>0, v_level, l.at,
    p_now + (ceil(((p_bucket->>1)::double precision - v_level) / (p_bucket->>2)::double precision) + 1)
      * (p_bucket->>3)::bigint)
  on conflict (id) do update set level = excluded.level, at = excluded.at, forgotten = excluded.forgotten;
  return v_level;
end $$;

create or replace function SCHEMA.wait_ms(p_bucket jsonb, p_need double precision, p_now bigint) returns bigint
language plpgsql as $$
declare l record;
begin
  l := SCHEMA.fill(p_bucket, p_now);
  return greatest(0, l.at - p_now
    + greatest(1, ceil((p_need - l.level) / (p_bucket->>2)::double precision)) * (p_bucket->>3)::bigint);
end $$;

create or replace function SCHEMA.begin_call(p_writer text, p_accounts jsonb, p_buckets jsonb, p_now bigint)
returns jsonb language plpgsql as $$
declare e record; v_left jsonb := '[]'; v_waits jsonb := '[]'; v_wait bigint;
begin
  for e in select value, ordinality - 1 as i from jsonb_array_elements(p_accounts) with ordinality loop
    if (select coalesce(sum(count), 0) from SCHEMA.under_way where account = e.value->>0) >= (e.value->>1)::bigint then
      return jsonb_build_array(0, 'account', e.i, 0);
    end if;
  end loop;
  for e in select value, ordinality - 1 as i from jsonb_array_elements(p_buckets) with ordinality loop
    if (SCHEMA.fill(e.value, p_now)).level < 1 then
      return jsonb_build_array(0, 'bucket', e.i, SCHEMA.wait_ms(e.value, 1, p_now));
    end if;
  end loop;
  for e in select value from jsonb_array_elements(p_buckets) loop
    v_wait := SCHEMA.wait_ms(e.value, 0, p_now);
    v_left := v_left || to_jsonb(SCHEMA.take(e.value, '-infinity', p_now));
    v_waits := v_waits || to_jsonb(v_wait);
  end loop;
  for e in select value from jsonb_array_elements(p_accounts) loop
    insert into SCHEMA.under_way values (p_writer, e.value->>0, 1)
    on conflict (writer, account) do update set count = SCHEMA.under_way.count + 1;
  end loop;
  return jsonb_build_array(1, v_left, v_waits);
end $$;

create or replace function SCHEMA.end_call(p_writer text, p_accounts jsonb) returns void language sql as $$
  update SCHEMA.under_way set count = count - 1
  where writer = p_writer and account in (select jsonb_array_elements_text(p_accounts));
  delete from SCHEMA.under_way where writer = p_writer and count < 1 $$;
`

const CALLS = `
create or replace function SCHEMA.reserve(p_writer text, p_number bigint, p_bound numeric, p_parts jsonb, p_now bigint)
returns jsonb language plpgsql as $$
declare
  e record; b record; v_left numeric; v_taken jsonb := '[]'; v_noted jsonb := '[]'; n jsonb;
  v_call text := p_writer || ' ' || p_number;
begin
  for e in select value, ordinality - 1 as i from jsonb_array_elements(p_parts) with ordinality loop
    if not SCHEMA.enter(e.value, p_now) then return '[2]'; end if;
    select * into b from SCHEMA.budget where id = e.value->>0;
    v_left := (e.value->>1)::numeric - b.used;
    if v_left < p_bound and (v_left <= 0 or b.short <> '') then
      return jsonb_build_array(0, e.i, b.spent::text, b.ends);
    end if;
    v_noted := v_noted || jsonb_build_array(jsonb_build_array(
      b.id, b.starts, b.ends, least(v_left, p_bound)::text, (e.value->>5)::bigint, v_left < p_bound));
  end loop;
  for n in select * from jsonb_array_elements(v_noted) loop
    perform SCHEMA.add(n->>0, (n->>3)::numeric, 0, 0, p_now);
    if (n->>5)::boolean then update SCHEMA.budget set short = v_call where id = n->>0; end if;
    v_taken := v_taken || (n->3);
  end loop;
  insert into SCHEMA.call values (p_writer, p_number, false, v_noted);
  return jsonb_build_array(1, v_taken);
end $$;

create or replace function SCHEMA.settle(p_writer text, p_of bigint, p_cost numeric, p_parts jsonb, p_now bigint)
returns void language plpgsql as $$
declare c record; n jsonb; v_taken numeric; v_spent numeric;
begin
  delete from SCHEMA.call where writer = p_writer and number = p_of returning * into c;
  if c.writer is null then
    if p_cost <> 0 then perform SCHEMA.add_all(p_parts, p_cost, p_now); end if;
    return;
  end if;
  for n in select * from jsonb_array_elements(c.parts) loop
    if SCHEMA.re_enter(n->>0, (n->>1)::bigint, (n->>2)::bigint, p_now) then
      v_taken := (n->>3)::numeric;
      -- Of a writer that was taken for dead, what it had set aside counts as spent already.
      v_spent := case when c.is_dead then p_cost - v_taken else p_cost end;
      perform SCHEMA.add(n->>0, p_cost - v_taken, v_spent, (n->>4)::bigint, p_now);
      update SCHEMA.budget set short = '' where id = n->>0 and short = p_writer || ' ' || p_of;
    end if;
  end loop;
end $$;
`

const COMMANDS = `
create or replace function SCHEMA.apply(p_writer text, p_behind bigint, p_operations jsonb) returns jsonb
language plpgsql as $$
declare
  o jsonb; v_now bigint; v_last bigint; v_number bigint; v_answer jsonb; v_answers jsonb := '[]'; v_fresh boolean;
begin
  perform pg_advisory_xact_lock(hashtext('SCHEMA'));
  v_now := SCHEMA.clock();
  select last, not is_alive into v_last, v_fresh from SCHEMA.writer where name = p_writer;
  if v_last is null then
    v_last := 0;
    insert into SCHEMA.writer values (p_writer, 0, v_now, true);
  end if;
  if v_last < p_behind then raise exception 'an earlier batch of this writer is missing'; end if;
  for o in select * from jsonb_array_elements(p_operations) loop
    v_number := o->>1;
    v_answer := 'null';
    if v_number > v_last then
      v_last := v_number;
      case o->>0
        when 'begin' then v_answer := SCHEMA.begin_call(p_writer, o->2, o->3, v_now);
        when 'reserve' then v_answer := SCHEMA.reserve(p_writer, v_number, (o->>2)::numeric, o->3, v_now);
        when 'end' then perform SCHEMA.end_call(p_writer, o->2);
        when 'settle' then
          perform SCHEMA.settle(p_writer, (o->>2)::bigint, (o->>3)::numeric, o->4, v_now);
        when 'correct' then perform SCHEMA.add_all(o->3, (o->>2)::numeric, v_now);
        when 'charge' then
          perform SCHEMA.take(value, -${2 ** 31}, v_now) from jsonb_array_elements(o->2);
      end case;
    end if;
    v_answers := v_answers || jsonb_build_array(v_answer);
  end loop;
  update SCHEMA.writer set last = v_last, heard = v_now, is_alive = true where name = p_writer;
  return jsonb_build_object('now', v_now, 'fresh', coalesce(v_fresh, true), 'answers', v_answers);
end $$;

create or replace function SCHEMA.reap(p_dead_ms bigint) returns bigint language plpgsql as $$
declare c record; n jsonb; v_now bigint; v_calls bigint := 0; v_dead text[];
begin
  perform pg_advisory_xact_lock(hashtext('SCHEMA'));
  v_now := SCHEMA.clock();
  v_dead := array(select name from SCHEMA.writer where is_alive and heard <= v_now - p_dead_ms);
  for c in select * from SCHEMA.call where not is_dead and writer = any(v_dead) loop
    v_calls := v_calls + 1;
    for n in select * from jsonb_array_elements(c.parts) loop
      if SCHEMA.re_enter(n->>0, (n->>1)::bigint, (n->>2)::bigint, v_now) then
        perform SCHEMA.add(n->>0, 0, (n->>3)::numeric, (n->>4)::bigint, v_now);
        update SCHEMA.budget set short = '' where id = n->>0 and short = c.writer || ' ' || c.number;
      end if;
    end loop;
  end loop;
  update SCHEMA.call set is_dead = true where writer = any(v_dead);
  delete from SCHEMA.under_way where writer = any(v_dead);
  update SCHEMA.writer set is_alive = false where name = any(v_dead);
  delete from SCHEMA.writer where not is_alive and heard < v_now - ${KEPT_MS};
  delete from SCHEMA.budget where forgotten < v_now;
  delete from SCHEMA.bucket where forgotten < v_now;
  return v_calls;
end $$;

create or replace function SCHEMA.change_key(p_name text, p_before text, p_after text) returns boolean
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('SCHEMA'));
  if (select value from SCHEMA.key where name = p_name) is distinct from p_before then return false; end if;
  delete from SCHEMA.key where name = p_name;
  if p_after is not null then insert into SCHEMA.key values (p_name, p_after); end if;
  update SCHEMA.changes set count = count + 1;
  return true;
end $$;
`

/** Made with the functions: tables of an earlier version have it, too. */
const OBJECTS = `
create table if not exists SCHEMA.object (
  holder text not null, object text not null, at bigint not null, primary key (holder, object)
);
create index if not exists object_at on SCHEMA.object (holder, at);

create or replace function SCHEMA.note_objects(p_holder text, p_objects text[], p_now bigint) returns void
language plpgsql as $$
begin
  insert into SCHEMA.object select p_holder, one, p_now from (select distinct unnest(p_objects) as one) as made
  on conflict (holder, object) do update set at = excluded.at;
  delete from SCHEMA.object where holder = p_holder and (at < p_now - ${OBJECT_KEPT_MS} or object in (
    select object from SCHEMA.object where holder = p_holder order by at desc offset ${OBJECTS_MAX}
  ));
end $$;
`

export const FUNCTIONS = [BUDGETS, LIMITS, CALLS, COMMANDS, OBJECTS].join('')
