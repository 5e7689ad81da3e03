//! Test whether a stored message has the bytes that encoding it would produce, without building the message.
//!
//! A message is plain in a dialect if reading and encoding it changes nothing of substance: the dialect has every
//! member, no member occurs twice or is missing, and every value has its type. A plain message is sent as its stored
//! bytes. The test may miss plain messages, which are then read and encoded.

use super::{AgentMessageKind, Base, MESSAGE_FORM};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{fmt, ops::BitAndAssign};

/// Set of dialects that have frames of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bases(u8);

impl Bases {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The set of all.
    pub const ALL: Self = Self::of(&Base::ALL);

    /// The set of those in the list.
    pub const fn of(list: &[Base]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < list.len() {
            bits |= 1 << list[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    /// Whether the set contains `base`.
    pub const fn has(self, base: Base) -> bool {
        self.0 & (1 << base as u8) != 0
    }

    /// The set of all the others.
    pub const fn others(self) -> Self {
        Self(Self::ALL.0 & !self.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitAndAssign for Bases {
    fn bitand_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

/// Largest integer up to which a double holds every one.
const MOST_EXACT: i64 = (1 << 53) - 1;

/// Form of a plain value.
pub enum Form {
    /// A string.
    Text,
    /// `true` or `false`.
    Flag,
    /// Any number.
    Number,
    /// A number from 0, in these dialects an integer without a fraction.
    NumberBut(Bases),
    /// An integer without a fraction, from the first to the second bound.
    Whole(i64, i64),
    /// A string of the list.
    Word(&'static [&'static str]),
    /// Any value without duplicate members.
    Free,
    /// Any object without duplicate members.
    FreeObject,
    /// A list of values of the form.
    List(&'static Self),
    /// A string, or a list of values of the form.
    TextOrList(&'static Self),
    /// An object with these members.
    Object(&'static [Member]),
    /// An object whose first member, with this name, selects the form of the others.
    Tagged(&'static str, &'static [(&'static str, &'static Self)]),
    /// A value with several encodings, which is never plain.
    Odd,
}

/// Member of an object.
pub struct Member {
    /// Name on the wire.
    pub name: &'static str,
    /// Dialects that have the member.
    pub bases: Bases,
    /// Whether every dialect requires the member.
    pub required: bool,
    /// Form of the value.
    pub form: &'static Form,
}

/// Skips a message and returns the dialects in which it is plain, and its role. Errors are those of JSON and of the
/// tag. If no dialect is returned, the role is not reliable.
pub struct PlainMessage;

impl<'de> DeserializeSeed<'de> for PlainMessage {
    type Value = (Bases, Option<AgentMessageKind>);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let (bases, role) = FormSeed(MESSAGE_FORM).deserialize(from)?;
        Ok((bases, role.and_then(AgentMessageKind::parse)))
    }
}

/// Skips a value and compares it with the form. Returns the value of the tag, too, if the form has one.
#[derive(Clone, Copy)]
struct FormSeed(&'static Form);

type PlainValue = (Bases, Option<&'static str>);

impl<'de> DeserializeSeed<'de> for FormSeed {
    type Value = PlainValue;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<PlainValue, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FormSeed {
    type Value = PlainValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<PlainValue, E> {
        Ok(plain(matches!(self.0, Form::Flag | Form::Free)))
    }
    fn visit_i64<E>(self, number: i64) -> Result<PlainValue, E> {
        Ok(plain(match self.0 {
            Form::Whole(least, most) => (*least..=*most).contains(&number),
            Form::NumberBut(whole) if number > MOST_EXACT => return Ok((whole.others(), None)),
            Form::NumberBut(_) => number >= 0,
            form => matches!(form, Form::Number | Form::Free),
        }))
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<PlainValue, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => self.visit_f64(number as f64),
        }
    }
    fn visit_f64<E>(self, number: f64) -> Result<PlainValue, E> {
        match self.0 {
            Form::NumberBut(whole) if number >= 0.0 => return Ok((whole.others(), None)),
            _ => {}
        }
        Ok(plain(matches!(self.0, Form::Number | Form::Free)))
    }
    fn visit_unit<E>(self) -> Result<PlainValue, E> {
        Ok(plain(matches!(self.0, Form::Free)))
    }
    fn visit_str<E>(self, text: &str) -> Result<PlainValue, E> {
        Ok(plain(match self.0 {
            Form::Word(words) => words.contains(&text),
            form => matches!(form, Form::Text | Form::TextOrList(_) | Form::Free),
        }))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PlainValue, A::Error> {
        let form = match self.0 {
            Form::List(form) | Form::TextOrList(form) => form,
            Form::Free => &Form::Free,
            _ => &Form::Odd,
        };
        let mut bases = Bases::ALL;
        while let Some((own, _)) = seq.next_element_seed(Self(form))? {
            bases &= own;
        }
        Ok(if matches!(form, Form::Odd) { plain(false) } else { (bases, None) })
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlainValue, A::Error> {
        match self.0 {
            Form::Object(members) => Ok((object(&mut map, members)?, None)),
            Form::Tagged(tag, branches) => tagged(&mut map, tag, branches),
            Form::Free | Form::FreeObject => free(&mut map),
            _ => odd(&mut map),
        }
    }
}

const fn plain(is: bool) -> PlainValue {
    (if is { Bases::ALL } else { Bases::NONE }, None)
}

fn object<'de, A: MapAccess<'de>>(map: &mut A, members: &'static [Member]) -> Result<Bases, A::Error> {
    let (mut bases, mut seen) = (Bases::ALL, 0_u64);
    let mut next = 0;
    while let Some(found) = map.next_key_seed(MemberKey { members, next })? {
        let new = found.filter(|at| seen & (1 << at) == 0);
        match new.map(|at| (at, &members[at])) {
            Some((at, member)) => {
                seen |= 1 << at;
                next = at + 1;
                bases &= member.bases;
                bases &= map.next_value_seed(FormSeed(member.form))?.0;
            }
            None => {
                bases = Bases::NONE;
                map.next_value::<IgnoredAny>()?;
            }
        }
    }
    let is_missing = |(at, member): (usize, &Member)| member.required && seen & (1 << at) == 0;
    Ok(if members.iter().enumerate().any(is_missing) { Bases::NONE } else { bases })
}

fn tagged<'de, A: MapAccess<'de>>(
    map: &mut A,
    tag: &'static str,
    branches: &'static [(&'static str, &'static Form)],
) -> Result<PlainValue, A::Error> {
    if map.next_key_seed(TagKey(tag))? != Some(true) {
        map.next_value::<IgnoredAny>()?;
        return odd(map);
    }
    match map.next_value_seed(BranchName(branches))? {
        Some((value, Form::Object(members))) => Ok((object(map, members)?, Some(value))),
        _ => odd(map),
    }
}

/// Skips any object. One with a duplicate member is not plain, as readers differ in which value they take.
fn free<'de, A: MapAccess<'de>>(map: &mut A) -> Result<PlainValue, A::Error> {
    let (mut bases, mut keys) = (Bases::ALL, Vec::new());
    while let Some(key) = map.next_key::<String>()? {
        bases &= map.next_value_seed(FormSeed(&Form::Free))?.0;
        keys.push(key);
    }
    let count = keys.len();
    if count > 1 {
        keys.sort_unstable();
        keys.dedup();
    }
    Ok(if keys.len() < count { plain(false) } else { (bases, None) })
}

fn odd<'de, A: MapAccess<'de>>(map: &mut A) -> Result<PlainValue, A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(plain(false))
}

/// Index of a key among the members, looked for first at `next`, where it is if no member was omitted.
struct MemberKey {
    members: &'static [Member],
    next: usize,
}

impl<'de> DeserializeSeed<'de> for MemberKey {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberKey {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let (before, after) = self.members.split_at(self.next);
        let is = |member: &Member| member.name == key;
        let at = after.iter().position(is).map(|at| at + self.next);
        Ok(at.or_else(|| before.iter().position(is)))
    }
}

/// Whether a key is the tag.
struct TagKey(&'static str);

impl<'de> DeserializeSeed<'de> for TagKey {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for TagKey {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Branch that the value of a tag selects.
struct BranchName(&'static [(&'static str, &'static Form)]);

impl<'de> DeserializeSeed<'de> for BranchName {
    type Value = Option<(&'static str, &'static Form)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for BranchName {
    type Value = Option<(&'static str, &'static Form)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tag")
    }
    fn visit_str<E>(self, tag: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|(name, _)| *name == tag).copied())
    }
}
